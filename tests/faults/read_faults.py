"""Answers a client must not be misled by: whole and well framed, but wrong. For `GET` above all."""

import gzip
import random
from collections.abc import Callable

import msgspec

from providers.servers.wsgi_application import Answer, plain_answer
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE, encode_endpoints
from tests.faults.fault import Fault, FaultPlan
from tests.servers.exchange import Exchange

_BOMB_PIECE_BYTES = 16 * 2**20
_OWNER = "external-dns/owner="


def status(code: int, text: str = "The provider answers so on purpose.") -> Fault:
    """Any status, with a short plain text."""
    return _always(f"status {code}", plain_answer(code, text))


def too_many_requests(retry_after: str = "7") -> Fault:
    """429 with Retry-After: seconds or an HTTP date."""
    return _always("too many requests", plain_answer(429, "Later.", ("Retry-After", retry_after)))


def redirect(location: str, code: int = 302) -> Fault:
    """A redirect, to the same host (`/elsewhere`) or to another."""
    return _always(f"redirect {code}", plain_answer(code, "Elsewhere.", ("Location", location)))


def body(content: bytes, *, name: str = "body", content_type: str = WEBHOOK_MEDIA_TYPE) -> Fault:
    """200 with just this body."""
    return _always(name, Answer(200, (("Content-Type", content_type), ("Vary", "Content-Type")), content))


def wrong_content_type(content_type: str = "application/json") -> Fault:
    """The right answer under a wrong Content-Type."""

    def changed(answer: Answer) -> Answer:
        others = tuple(each for each in answer.headers if each[0] != "Content-Type")
        return msgspec.structs.replace(answer, headers=(("Content-Type", content_type), *others))

    return _altered("wrong content type", changed)


def empty_list() -> Fault:
    """`[]`: legal, and the most dangerous answer there is."""
    return body(b"[]", name="empty list")


def null() -> Fault:
    """`null`: the same as an empty list."""
    return body(b"null", name="null")


def empty_object() -> Fault:
    """`{}` where a list belongs."""
    return body(b"{}", name="empty object")


def byte_order_mark() -> Fault:
    """The right answer behind a UTF-8 byte order mark."""
    return _altered("byte order mark", lambda answer: _with_body(answer, b"\xef\xbb\xbf" + answer.body))


def trailing_text() -> Fault:
    """The right answer, and then some more."""
    return _altered("trailing text", lambda answer: _with_body(answer, answer.body + b'[{"dnsName":"x"}]'))


def deep_nesting(levels: int = 100_000) -> Fault:
    """Brackets within brackets, properly closed."""
    return body(b"[" * levels + b"]" * levels, name="deep nesting")


def gzip_bomb(size: int = 2**30) -> Fault:
    """A compressed body nobody asked for that unfolds to `size` bytes of blanks (in steps of 16 MiB)."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        # Gzip members may follow each other: one small piece, repeated, is the whole bomb.
        piece = gzip.compress(b" " * _BOMB_PIECE_BYTES, 9)
        content = gzip.compress(b"[") + piece * (size // _BOMB_PIECE_BYTES) + gzip.compress(b"]")
        headers = (("Content-Type", WEBHOOK_MEDIA_TYPE), ("Content-Encoding", "gzip"))
        exchange.send(Answer(200, headers, content))

    return Fault("gzip bomb", play)


def poisoned(record: bytes, *, name: str = "poisoned record") -> Fault:
    """The right answer with one more record in it, given as JSON bytes."""

    def changed(answer: Answer) -> Answer:
        rest = answer.body.strip()[:-1]
        separator = b"" if rest == b"[" else b","
        return _with_body(answer, rest + separator + record + b"]")

    return _altered(name, changed)


def long_number(digits: int = 5_000) -> Fault:
    """A record whose TTL has thousands of digits."""
    return poisoned(
        b'{"dnsName":"long.example.org","recordType":"A","targets":["192.0.2.1"],"recordTTL":'
        + b"9" * digits
        + b"}",
        name="long number",
    )


def not_a_number() -> Fault:
    """A record whose TTL is NaN, which is not JSON at all."""
    return poisoned(
        b'{"dnsName":"nan.example.org","recordType":"A","targets":["192.0.2.1"],"recordTTL":NaN}',
        name="not a number",
    )


def nul() -> Fault:
    """A record with NUL in its name."""
    return poisoned(
        rb'{"dnsName":"nul\u0000.example.org","recordType":"A","targets":["192.0.2.1"]}', name="nul"
    )


def lone_surrogate() -> Fault:
    """A record with half a surrogate pair in a target."""
    return poisoned(
        rb'{"dnsName":"half.example.org","recordType":"TXT","targets":["\"\ud800\""]}', name="lone surrogate"
    )


def shuffled(seed: int = 1) -> Fault:
    """The right records in another order."""

    def changed(endpoints: list[Endpoint]) -> list[Endpoint]:
        random.Random(seed).shuffle(endpoints)  # an order, not a secret
        return endpoints

    return _rearranged("shuffled", changed)


def duplicated() -> Fault:
    """Every record twice."""
    return _rearranged("duplicated", lambda endpoints: [*endpoints, *endpoints])


def two_owners(rival: str = "rival-cluster") -> Fault:
    """Every plain-text claim names a second owner before its own: ExternalDNS obeys the first text."""

    def changed(endpoints: list[Endpoint]) -> list[Endpoint]:
        return [_with_rival(each, rival) for each in endpoints]

    return _rearranged("two owners", changed)


def without(matches: Callable[[Endpoint], bool], *, name: str = "some left out") -> Fault:
    """The records without those that match: a partial answer that looks whole."""
    return _rearranged(name, lambda endpoints: [each for each in endpoints if not matches(each)])


def _always(name: str, answer: Answer) -> Fault:
    return Fault(name, lambda exchange, _plan: exchange.send(answer))


def _altered(name: str, change: Callable[[Answer], Answer]) -> Fault:
    return Fault(name, lambda exchange, _plan: exchange.send(change(exchange.answer())))


def _rearranged(name: str, change: Callable[[list[Endpoint]], list[Endpoint]]) -> Fault:
    def changed(answer: Answer) -> Answer:
        endpoints = msgspec.json.decode(answer.body, type=list[Endpoint])
        return _with_body(answer, encode_endpoints(change(endpoints)))

    return _altered(name, changed)


def _with_body(answer: Answer, content: bytes) -> Answer:
    return msgspec.structs.replace(answer, body=content)


def _with_rival(endpoint: Endpoint, rival: str) -> Endpoint:
    claims = [each for each in endpoint.targets if endpoint.record_type == "TXT" and _OWNER in each]
    rivals = tuple(f'"heritage=external-dns,{_OWNER}{rival}"' for _ in claims[:1])
    return msgspec.structs.replace(endpoint, targets=(*rivals, *endpoint.targets))
