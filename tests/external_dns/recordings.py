"""What ExternalDNS was recorded to send (`tests/traffic/*.jsonl`), run by run, and a server that gives the
recorded answers again."""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE
from tests.external_dns.settings import Version

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_FOLDER = Path(__file__).parents[1] / "traffic"
# The key `encrypted` was recorded with, made up for it.
KEY = b"s%zF`.*'5`9.AhI2!B,.~hmbs^.*TL?;"

# The recordings and the flags of each beside owner id `a` and policy sync, as traffic/README.md lists them.
RECORDINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "plain": {},
        "suffix": {"txt_suffix": "-own"},
        "wildcard-replacement": {"wildcard_replacement": "any"},
        "encrypted": {"encryption_key": KEY},
        "older-version": {"version": Version.OLDER},
        "legacy-claim-only": {},
        "claim-with-unsorted-labels": {},
        "claim-beside-another-text": {},
        "properties-on-the-claim": {},
    }
)


class Exchange(msgspec.Struct, frozen=True):
    """One request and its answer."""

    method: str
    path: str
    request: str
    status: int = 0
    response: str = ""


def read_exchanges(name: str, domain: str = "ex.test") -> list[Exchange]:
    """All of one recording, under another domain where one is given."""
    with (_FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [
            msgspec.json.decode(line.replace("ex.test", domain), type=Exchange, strict=False)
            for line in lines
        ]


def read_runs(name: str) -> list[list[Exchange]]:
    """The exchanges of each run of the program: each begins with the negotiation."""
    runs: list[list[Exchange]] = []
    for exchange in read_exchanges(name):
        if exchange.path == "/":
            runs.append([])
        runs[-1].append(exchange)
    return runs


class Playback:
    """A WSGI application that answers as was recorded, whatever it is asked, and keeps what it was asked."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._lock = threading.Lock()
        self._answers = iter(exchanges)
        self.asked: list[Exchange] = []

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterator[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length).decode()
        with self._lock:
            self.asked.append(Exchange(environ["REQUEST_METHOD"], environ["PATH_INFO"], body))
            answer = next(self._answers, Exchange("", "", "", 404, "Nothing more was recorded."))
        status = f"{answer.status} {HTTPStatus(answer.status).phrase}"
        start_response(status, [("Content-Type", WEBHOOK_MEDIA_TYPE)])
        yield answer.response.encode()


def parse_body(exchange: Exchange) -> Any:
    """The JSON of a request; None for one without a body."""
    return json.loads(exchange.request) if exchange.request else None
