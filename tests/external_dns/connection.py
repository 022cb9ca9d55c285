"""ExternalDNS's webhook client: three calls over real HTTP, and which answers it survives."""

import json
import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
import requests
import urllib3

from providers.wire.domain_filter import DomainFilter, parse_domain_filter
from providers.wire.endpoint import Endpoint
from providers.wire.errors import WireError
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE
from providers.wire.json_reading import LENIENT, parse_json, read_endpoints
from tests.external_dns.plan import Changes
from tests.external_dns.record import Record
from tests.external_dns.settings import Settings, Version

_MOST_TRIES = 5
_PIECE_BYTES = 64 * 1024
_HTML_CHARACTERS = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"))


class SoftError(Exception):
    """The loop ends, the process lives on."""


class FatalError(Exception):
    """The process ends."""


class ProviderConnection:
    """One webhook provider, as one process talks to it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._session = requests.Session()
        # Neither proxies nor a .netrc: user-info in the URL is the only credential.
        self._session.trust_env = False
        self._session.headers.update({"User-Agent": "Go-http-client/1.1", "Accept-Encoding": "gzip"})

    def close(self) -> None:
        self._session.close()

    def negotiate(self) -> DomainFilter:
        """The provider's domain filter. No answer and a 5xx are tried again, without a wait here."""
        for left in reversed(range(_MOST_TRIES)):
            try:
                answer = self._call("GET", self._settings.base_url, None, range(200, 300))
                break
            except (SoftError, _NoAnswer) as error:
                if not left:
                    raise FatalError(f"negotiation: {error}") from error
        try:
            parsed = parse_domain_filter(answer.body)
        except WireError as error:
            raise FatalError(f"negotiation: {error}") from error
        if answer.content_type != WEBHOOK_MEDIA_TYPE:
            raise FatalError(f"negotiation: wrong content type {answer.content_type!r}")
        return parsed.filter

    def fetch_records(self) -> tuple[Endpoint, ...]:
        return _read(self._call("GET", self._join("records"), None, range(200, 201)))

    def adjust(self, desired: Iterable[Record]) -> tuple[Endpoint, ...]:
        """The desired endpoints as the provider wants them."""
        body = _encode([each.to_endpoint() for each in desired])
        return _read(self._call("POST", self._join("adjustendpoints"), body, range(200, 201)))

    def send(self, changes: Changes) -> None:
        """Ask for the changes."""
        is_older = self._settings.version is Version.OLDER
        expected = range(200, 210) if is_older else range(204, 205)
        body = _encode(_list_with_capitals(changes) if is_older else _list_filled(changes))
        self._call("POST", self._join("records"), body, expected, accepts=False)

    def _join(self, path: str) -> str:
        parts = urlsplit(self._settings.base_url)
        return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{path}"))

    def _call(
        self, method: str, url: str, body: bytes | None, expected: range, *, accepts: bool = True
    ) -> "_Answer":
        headers: dict[str, str | None] = {"Accept": WEBHOOK_MEDIA_TYPE if accepts else None}
        if body is not None:
            headers["Content-Type"] = WEBHOOK_MEDIA_TYPE
        deadline = time.monotonic() + self._settings.timeout_seconds
        try:
            response = self._session.request(
                method, url, data=body, headers=headers, timeout=self._settings.timeout_seconds, stream=True
            )
        except requests.RequestException as error:
            raise _NoAnswer(f"{method} {url}: {error}") from error
        with response:
            if response.status_code not in expected:
                kind = SoftError if 500 <= response.status_code <= 510 else FatalError
                raise kind(f"{method} {url}: status {response.status_code}")
            content_type = response.headers.get("Content-Type", "")
            return _Answer(content_type, self._read_body(response, deadline))

    def _read_body(self, response: requests.Response, deadline: float) -> bytes:
        """All of it, as long as the time and the bytes last."""
        raw: Any = response.raw
        body = bytearray()
        try:
            while piece := raw.read1(_PIECE_BYTES, decode_content=True):
                body += piece
                if len(body) > self._settings.max_body_bytes:
                    raise FatalError(f"{response.url}: the body is over the limit")
                if time.monotonic() > deadline:
                    raise FatalError(f"{response.url}: the time is over")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise FatalError(f"{response.url}: {error}") from error
        return bytes(body)


class _NoAnswer(FatalError):
    """No answer at all: fatal in a loop, and tried again in a negotiation."""


class _Answer(msgspec.Struct, frozen=True):
    content_type: str
    body: bytes


def _read(answer: _Answer) -> tuple[Endpoint, ...]:
    """The endpoints in the first JSON value of a body: Go's decoder looks no further."""
    try:
        text = answer.body.decode(errors="surrogateescape").lstrip(" \t\r\n")
        _, end = json.JSONDecoder().raw_decode(text)
        first = text[:end].encode(errors="surrogateescape")
        return read_endpoints(parse_json(first, "$", LENIENT), "$", LENIENT)
    except (WireError, ValueError, RecursionError) as error:
        raise FatalError(f"the answer cannot be read: {error}") from error


def _encode(value: object) -> bytes:
    """As Go's encoder writes it, line feed included."""
    text = msgspec.json.encode(value).decode()
    for character, escape in _HTML_CHARACTERS:
        text = text.replace(character, escape)
    return f"{text}\n".encode()


def _list_filled(changes: Changes) -> dict[str, list[Endpoint]]:
    named = {
        "create": changes.create,
        "updateOld": changes.update_old,
        "updateNew": changes.update_new,
        "delete": changes.delete,
    }
    return {name: [each.to_endpoint() for each in records] for name, records in named.items() if records}


def _list_with_capitals(changes: Changes) -> dict[str, list[Endpoint] | None]:
    """All four lists. The one that is not filtered by its owner is null where nothing is created."""
    filled = _list_filled(changes)
    return {
        "Create": filled.get("create"),
        "UpdateOld": filled.get("updateOld", []),
        "UpdateNew": filled.get("updateNew", []),
        "Delete": filled.get("delete", []),
    }
