"""What a provider promises to ExternalDNS, kept by every backend of ours behind both protocols."""

import msgspec
import pytest
import requests

from providers.wire.canonical_name import canonical_targets
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from tests.providers.contract.conftest import Served
from tests.reference_server import make_claim, make_record

pytestmark = pytest.mark.deep

WWW = "www.example.org"
ONE, TWO, THREE = ("192.0.2.1",), ("192.0.2.2",), ("192.0.2.3",)
RECORDS = [
    make_record("a.example.org", "A", ("192.0.2.1",)),
    make_record("two.example.org", "A", ("192.0.2.1", "192.0.2.2")),
    make_record("aaaa.example.org", "AAAA", ("2001:db8::1",)),
    make_record("cname.example.org", "CNAME", ("target.example.net",)),
    make_record("*.wild.example.org", "A", ("192.0.2.1",)),
    make_record("_srv._tcp.example.org", "SRV", ("10 20 443 target.example.net",)),
    make_record("mx.example.org", "MX", ("10 mail.example.net",)),
    make_record("ns.example.org", "NS", ("ns1.example.net", "ns2.example.net")),
    make_record("ptr.example.org", "PTR", ("target.example.net",)),
    make_record("txt.example.org", "TXT", ('"two words; and = a sign"',)),
    make_record("long.example.org", "TXT", (f'"{"x" * 300}"',)),
    make_claim("claimed.example.org", resource="ingress/shop/www"),
]


def _held(served: Served, name: str = WWW, targets: tuple[str, ...] = ONE) -> Endpoint:
    """An A record that was just created, as it is shown."""
    assert served.apply(create=(make_record(name, targets=targets),)) == served.applied_status
    (shown,) = served.at(name)
    return shown


def test_it_negotiates_with_its_media_type_byte_for_byte(served: Served) -> None:
    for path in ("", "/"):
        answer = served.call("GET", path)

        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == served.media_type
        assert "Content-Type" in answer.headers["Vary"]


@pytest.mark.parametrize("record", RECORDS, ids=[f"{each.record_type} {each.dns_name}" for each in RECORDS])
def test_what_is_created_is_shown_as_it_was_written(served: Served, record: Endpoint) -> None:
    status = served.apply(create=(record,))

    assert status == served.applied_status
    (shown,) = served.at(record.dns_name, record.record_type)
    assert canonical_targets(shown) == canonical_targets(record)
    assert shown.record_ttl == record.record_ttl


def test_a_record_and_its_claim_go_in_one_change_set_and_go_again_in_one(served: Served) -> None:
    before = served.records()
    pair = (make_record(WWW), make_claim(WWW))

    assert served.apply(create=pair) == served.applied_status
    shown = (*served.at(WWW), *served.at(f"a-{WWW}", "TXT"))
    assert len(shown) == 2
    assert served.apply(delete=shown) == served.applied_status

    assert sorted(served.records(), key=repr) == sorted(before, key=repr)


def test_an_update_with_the_value_as_it_was_read_is_made(served: Served) -> None:
    held = _held(served)

    status = served.apply(update=((held, msgspec.structs.replace(held, targets=TWO)),))

    assert status == served.applied_status
    assert served.targets(WWW) == TWO


def test_an_update_may_change_the_ttl_alone(served: Served) -> None:
    held = _held(served)

    served.apply(update=((held, msgspec.structs.replace(held, record_ttl=held.record_ttl + 60)),))

    (shown,) = served.at(WWW)
    assert shown.record_ttl == held.record_ttl + 60
    assert served.targets(WWW) == ONE


def test_a_create_never_replaces_what_stands_there(served: Served) -> None:
    _held(served)

    status = served.apply(create=(make_record(WWW, targets=TWO),))

    assert status >= 400
    assert served.targets(WWW) == ONE


def test_an_old_value_that_is_none_changes_nothing_where_values_are_compared(served: Served) -> None:
    held = _held(served)
    stale = msgspec.structs.replace(held, targets=THREE)
    if not served.compares_old_values:
        assert served.apply(update=((stale, msgspec.structs.replace(held, targets=TWO)),)) < 300
        assert served.targets(WWW) == TWO
        return

    updated = served.apply(update=((stale, msgspec.structs.replace(held, targets=TWO)),))
    deleted = served.apply(delete=(stale,))

    assert updated >= 400
    assert deleted >= 400
    assert served.targets(WWW) == ONE


def test_what_is_not_there_can_be_neither_updated_nor_deleted(served: Served) -> None:
    absent = make_record("absent.example.org")

    updated = served.apply(update=((absent, msgspec.structs.replace(absent, targets=TWO)),))
    deleted = served.apply(delete=(absent,))

    assert updated >= 400
    assert deleted >= 400
    assert served.targets("absent.example.org") == ()


def test_one_bad_change_undoes_the_others_where_change_sets_are_atomic(served: Served) -> None:
    held = _held(served)
    good = make_record("good.example.org")
    absent = make_record("absent.example.org")

    status = served.apply(
        create=(good,),
        update=((held, msgspec.structs.replace(held, targets=TWO)),),
        delete=(absent,),
    )

    assert status >= 400
    if served.is_atomic:
        assert served.targets("good.example.org") == ()
        assert served.targets(WWW) == ONE


def test_names_are_the_same_in_any_case(served: Served) -> None:
    held = _held(served, "WWW.Example.org")

    again = served.apply(create=(make_record(WWW, targets=TWO),))
    deleted = served.apply(delete=(held,))

    assert again >= 400
    assert deleted == served.applied_status
    assert served.targets(WWW) == ()


def test_sets_of_one_name_are_told_apart_where_that_is_promised(served: Served) -> None:
    sets = tuple(
        make_record(WWW, targets=targets, set_identifier=identifier)
        for identifier, targets in (("one", ONE), ("two", TWO))
    )
    if served.holds_sets:
        weight = (ProviderSpecificProperty("aws/weight", "10"),)
        sets = tuple(msgspec.structs.replace(each, provider_specific=weight) for each in sets)

    status = served.apply(create=sets)

    if not served.holds_sets:
        assert status >= 400
        assert served.at(WWW) == []
        return
    assert status == served.applied_status
    assert {each.set_identifier: each.targets for each in served.at(WWW)} == {"one": ONE, "two": TWO}


def test_adjusting_changes_nothing_and_again_gives_the_same(served: Served) -> None:
    _held(served)
    before = served.records()

    once = served.adjust([*RECORDS, make_record(WWW, targets=TWO)])
    again = served.adjust(once)

    assert again == once
    assert served.records() == before


def test_a_name_elsewhere_is_refused_where_only_a_zone_is_served(served: Served) -> None:
    before = served.records()

    status = served.apply(create=(make_record("www.example.invalid"),))

    assert status >= 400 or served.targets("www.example.invalid") == ONE
    assert len(served.records()) == len(before) + (status < 300)


@pytest.mark.parametrize(
    ("method", "path", "body", "statuses"),
    [
        ("POST", "/records", b'{"create":[', {400}),
        ("POST", "/records", b"[]", {400}),
        ("POST", "/records", b'{"create":[{"dnsName":"www.example.org","DNSName":"x.example.org"}]}', {400}),
        ("POST", "/adjustendpoints", b"{", {400}),
        ("PUT", "/records", b"{}", {400, 405}),
        ("GET", "/nowhere", None, {404}),
    ],
)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(
    served: Served, method: str, path: str, body: bytes | None, statuses: set[int]
) -> None:
    before = served.records()

    answer = served.call(method, path, body)

    assert answer.status_code in statuses
    assert served.records() == before


def test_another_media_type_is_refused(served: Served) -> None:
    assert served.call("GET", "/records", Accept="application/json").status_code == 406
    assert served.call("POST", "/records", b"{}", Content_Type="application/json").status_code == 415


def test_a_connection_is_kept_after_an_error(served: Served) -> None:
    with requests.Session() as session:
        headers = {"Accept": served.media_type}
        first = session.get(served.url + "/nowhere", headers=headers, timeout=30)
        second = session.get(served.url + "/records", headers=headers, timeout=30)

    assert (first.status_code, second.status_code) == (404, 200)
    assert "close" not in first.headers.get("Connection", "").lower()
