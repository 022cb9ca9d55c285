"""Every wrong answer to a read shows what it says it shows."""

import gzip
import json
import zlib
from collections.abc import Callable

import pytest

from providers.wire.json_codec import decode_records
from tests.faults import read_faults
from tests.faults.catalogue import POISONED_READS, READABLE_READS, REFUSED_READS, WRITES
from tests.faults.fault import Fault, FaultPlan
from tests.providers.servers.calls import (
    exchange_bytes,
    fetch_endpoints,
    fetch_records,
    head_and_body,
    raw_get,
)
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone

ZONE = make_zone(count=5)


def test_a_fault_is_played_as_often_as_planned_and_then_all_is_well() -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", read_faults.status(503), times=2, after=1)

        statuses = [fetch_records(provider.url).status_code for _ in range(5)]

    assert statuses == [200, 503, 503, 200, 200]
    assert provider.faults.played() == ("status 503", "status 503")


def test_faults_of_one_route_follow_each_other_and_other_routes_are_not_met() -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", read_faults.status(500))
        provider.faults.plan("GET /records", read_faults.empty_list())
        provider.faults.plan("POST /records", read_faults.status(502))

        answers = [fetch_records(provider.url) for _ in range(3)]

    assert [each.status_code for each in answers] == [500, 200, 200]
    assert answers[1].content == b"[]"
    assert len(answers[2].json()) == len(ZONE)


def test_a_fault_without_end_lasts_until_it_is_cleared() -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", read_faults.null(), times=None)

        bodies = [fetch_records(provider.url).content for _ in range(3)]
        provider.faults.clear()

        assert bodies == [b"null"] * 3
        assert fetch_endpoints(provider.url) == ZONE


@pytest.mark.parametrize("route", ["/records", "GET records", "GET  /records", ""])
def test_a_route_that_would_never_be_met_is_refused(route: str) -> None:
    with pytest.raises(ValueError, match="A route is a method and a path"):
        FaultPlan().plan(route, read_faults.null())


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 500, 502, 503, 510])
def test_any_status_can_be_answered(code: int) -> None:
    answer = _played(read_faults.status(code))

    assert answer[0].startswith(f"HTTP/1.1 {code} ")


def test_too_many_requests_says_when_to_come_back() -> None:
    head, _ = _played(read_faults.too_many_requests("120"))

    assert head.startswith("HTTP/1.1 429 ")
    assert "Retry-After: 120" in head


@pytest.mark.parametrize("location", ["/elsewhere", "http://192.0.2.1/records"])
def test_a_redirect_names_its_place(location: str) -> None:
    head, _ = _played(read_faults.redirect(location, 307))

    assert head.startswith("HTTP/1.1 307 ")
    assert f"Location: {location}" in head


def test_a_wrong_content_type_stands_over_the_right_body() -> None:
    head, body = _played(read_faults.wrong_content_type("text/html"))

    assert "Content-Type: text/html" in head
    assert head.count("Content-Type:") == 1
    assert len(json.loads(body)) == len(ZONE)


@pytest.mark.parametrize(
    ("fault", "body"),
    [(read_faults.empty_list(), b"[]"), (read_faults.null(), b"null"), (read_faults.empty_object(), b"{}")],
)
def test_the_emptiest_answers(fault: Fault, body: bytes) -> None:
    assert _played(fault)[1] == body


def test_a_byte_order_mark_stands_before_the_right_body() -> None:
    _, body = _played(read_faults.byte_order_mark())

    assert body.startswith(b"\xef\xbb\xbf[")
    assert len(json.loads(body.decode("utf-8-sig"))) == len(ZONE)


def test_trailing_text_follows_a_closed_array() -> None:
    _, body = _played(read_faults.trailing_text())

    value, end = json.JSONDecoder().raw_decode(body.decode())
    assert len(value) == len(ZONE)
    assert body[end:] != b""


def test_deep_nesting_is_deep_and_closed() -> None:
    _, body = _played(read_faults.deep_nesting(100_000))

    assert body == b"[" * 100_000 + b"]" * 100_000


def test_a_gzip_bomb_is_small_and_unfolds_to_a_closed_array() -> None:
    head, body = _played(read_faults.gzip_bomb(64 * 2**20))
    unfolded = gzip.decompress(body)

    assert "Content-Encoding: gzip" in head
    assert len(body) < 2**20
    assert len(unfolded) == 64 * 2**20 + 2
    assert unfolded.strip(b" ")[:1] + unfolded.strip(b" ")[-1:] == b"[]"


def test_the_default_gzip_bomb_unfolds_a_thousandfold() -> None:
    _, body = _played(read_faults.gzip_bomb())

    first = zlib.decompressobj(wbits=31).decompress(body[: len(gzip.compress(b"["))])
    assert first == b"["
    assert len(body) < 2 * 2**20


@pytest.mark.parametrize("name", sorted(POISONED_READS))
def test_a_poisoned_answer_holds_all_records_and_one_that_is_unfit(name: str) -> None:
    _, body = _played(POISONED_READS[name]())

    read = decode_records(body, max_items=100)
    assert list(read.endpoints) == ZONE
    assert len(read.set_aside) == 1


def test_a_poisoned_answer_can_stand_alone() -> None:
    with ReferenceProvider() as provider:
        provider.faults.plan("GET /records", read_faults.long_number(5000))
        body = fetch_records(provider.url).content

    assert body.startswith(b'[{"dnsName":"long.example.org"')
    assert b"9" * 5000 + b"}]" in body


def test_shuffled_is_the_same_in_another_order() -> None:
    endpoints = _played_endpoints(read_faults.shuffled(3))

    assert endpoints != list(map(repr, ZONE))
    assert sorted(endpoints) == sorted(map(repr, ZONE))


def test_duplicated_has_every_record_twice() -> None:
    assert _played_endpoints(read_faults.duplicated()) == [*map(repr, ZONE), *map(repr, ZONE)]


def test_two_owners_stand_in_every_claim_and_nowhere_else() -> None:
    with ReferenceProvider([make_record(), make_claim()]) as provider:
        provider.faults.plan("GET /records", read_faults.two_owners())
        record, claim = fetch_endpoints(provider.url)

    assert record == make_record()
    assert claim.targets == (
        '"heritage=external-dns,external-dns/owner=rival-cluster"',
        '"heritage=external-dns,external-dns/owner=blue-cluster"',
    )


def test_some_records_can_be_left_out() -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", read_faults.without(lambda each: each.record_type == "TXT"))

        assert fetch_endpoints(provider.url) == [each for each in ZONE if each.record_type != "TXT"]


@pytest.mark.parametrize(
    "make", [*REFUSED_READS.values(), *POISONED_READS.values(), *READABLE_READS.values(), *WRITES.values()]
)
def test_every_fault_of_the_catalogue_has_a_name(make: Callable[[], Fault]) -> None:
    assert make().name


def _played(fault: Fault) -> tuple[str, bytes]:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", fault)
        return head_and_body(exchange_bytes(provider.port, raw_get()))


def _played_endpoints(fault: Fault) -> list[str]:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", fault)
        return list(map(repr, fetch_endpoints(provider.url)))
