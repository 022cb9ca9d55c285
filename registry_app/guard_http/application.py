"""The webhook protocol for each guard endpoint: `/<slug>`, `/<slug>/records`, `/<slug>/adjustendpoints`.

ExternalDNS ends after every status but success and 5xx. So nothing is refused with 4xx but a wrong
credential, and every other problem is 503 with a sentence.
"""

import base64
import binascii
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from django.db import connections

from providers.servers.wsgi_application import (
    Answer,
    Observer,
    Refusal,
    Request,
    WsgiApplication,
    plain_answer,
)
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE, encode_domain_filter
from registry_app.errors import DATABASE_ERRORS, DnsadminError
from registry_app.guard.answers import answer_adjust, answer_changes, answer_negotiation, answer_records
from registry_app.guard.deadline import Deadline, Unavailable
from registry_app.guard.negotiation import NegotiationCopies
from registry_app.guard.records import RecordsReader
from registry_app.guard.view_readings import ViewReader
from registry_app.models import GuardEndpoint
from registry_app.queries.guard_credential import is_credential_right
from registry_app.queries.guard_endpoint import find_guard_endpoint

_LOG = logging.getLogger("registry_app.guard_http")
_TYPED = (("Content-Type", WEBHOOK_MEDIA_TYPE), ("Vary", "Content-Type, Accept-Encoding"))
_CHALLENGE = ("WWW-Authenticate", 'Basic realm="dnsadmin guard"')
_LATER = 503


@dataclass(frozen=True)
class _Asked:
    """A request of an instance that may ask."""

    request: Request
    endpoint: GuardEndpoint
    deadline: Deadline


class GuardApplication(WsgiApplication):
    """Answers instances. Any number of replicas on one database do the same."""

    def __init__(
        self, copies: NegotiationCopies, *, most_body_bytes: int, observers: Sequence[Observer] = ()
    ) -> None:
        super().__init__(most_body_bytes=most_body_bytes, observers=observers)
        self._copies = copies
        self._reader = ViewReader(RecordsReader())
        self._calls: Mapping[tuple[str, str], Callable[[_Asked], Answer]] = {
            ("GET", ""): self._negotiate,
            ("GET", "records"): self._records,
            ("POST", "records"): self._apply_changes,
            ("POST", "adjustendpoints"): self._adjust_endpoints,
        }

    def answer(self, request: Request) -> Answer:
        """Answer one request; nothing is raised but Refusal with 401."""
        slug, _, call = request.path.strip("/").partition("/")
        try:
            return self._answer_instance(request, slug, call)
        except DATABASE_ERRORS as error:
            _LOG.warning("The database is away: %s", error)
            return self._answer_without_database(request, slug, call)
        except DnsadminError as error:
            return _answer_later(str(error))
        finally:
            # Each request has a thread of its own, which ends with it.
            connections.close_all()

    def refuse(self, refusal: Refusal) -> Answer:
        """An instance ends after 413 or 400, and lives on after 503."""
        if refusal.status == 401:
            return plain_answer(401, str(refusal), _CHALLENGE)
        return _answer_later(str(refusal))

    def _answer_instance(self, request: Request, slug: str, call: str) -> Answer:
        endpoint = find_guard_endpoint(slug)
        answer = self._calls.get((request.method, call))
        if endpoint is None:
            self._copies.forget(slug)
            return _answer_later(f"There is no guard endpoint {slug!r}. Register it, or correct the URL.")
        _raise_if_other_network(request, endpoint.networks)
        _raise_if_credential_wrong(request, endpoint.username, endpoint.password_hash)
        if answer is None:
            return _answer_later(f"The webhook protocol has no {request.method} /{call}.")
        return answer(_Asked(request, endpoint, Deadline(endpoint.deadline_seconds)))

    def _answer_without_database(self, request: Request, slug: str, call: str) -> Answer:
        """An instance that does not get the negotiation ends: it is answered from the copy."""
        copy = self._copies.find(slug)
        if copy is None or (request.method, call) != ("GET", ""):
            return _answer_later("The database of the guard is away. Nothing was read or sent.")
        _raise_if_other_network(request, copy.networks)
        _raise_if_credential_wrong(request, copy.username, copy.password_hash)
        return Answer(200, _TYPED, encode_domain_filter(copy.domain_filter))

    def _negotiate(self, asked: _Asked) -> Answer:
        domain_filter = answer_negotiation(asked.endpoint, asked.deadline)
        self._copies.remember(asked.endpoint, domain_filter)
        return Answer(200, _TYPED, encode_domain_filter(domain_filter))

    def _records(self, asked: _Asked) -> Answer:
        reading = answer_records(asked.endpoint, self._reader, asked.deadline)
        if _takes_gzip(asked.request):
            return Answer(200, (*_TYPED, ("Content-Encoding", "gzip")), reading.compressed)
        return Answer(200, _TYPED, reading.body)

    def _adjust_endpoints(self, asked: _Asked) -> Answer:
        answer = answer_adjust(asked.endpoint, asked.request.body, self._reader, asked.deadline)
        return Answer(200, _TYPED, answer)

    def _apply_changes(self, asked: _Asked) -> Answer:
        answer_changes(asked.endpoint, asked.request.body, asked.deadline)
        return Answer(204)


def _answer_later(text: str) -> Answer:
    return plain_answer(_LATER, text)


def _takes_gzip(request: Request) -> bool:
    codings = [each.strip().lower() for each in request.headers.get("accept-encoding", "").split(",")]
    return "gzip" in codings


def _raise_if_other_network(request: Request, networks: Sequence[str]) -> None:
    if not networks:
        return
    try:
        address = ip_address(request.peer)
    except ValueError:
        address = None
    if address is None or not any(address in ip_network(each) for each in networks):
        raise Unavailable(
            f"Requests from {request.peer or 'an unknown address'} are not taken by this guard endpoint.",
            todo="Add its network to the guard endpoint.",
        )


def _raise_if_credential_wrong(request: Request, username: str, password_hash: str) -> None:
    if not username:
        return
    given = _read_basic(request.headers.get("authorization", ""))
    if given is None or not is_credential_right(username, password_hash, *given):
        raise Refusal(401, "This guard endpoint takes requests with its user name and password alone.")


def _read_basic(header: str) -> tuple[str, str] | None:
    scheme, _, parameter = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(parameter.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    user, colon, password = text.partition(":")
    return (user, password) if colon else None
