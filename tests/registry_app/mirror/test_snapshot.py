"""A body as a snapshot."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.registries.claim import OwnershipState, TxtProfile
from providers.registries.stored_claim import StoreContents, StoredClaim
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_codec import encode_endpoints
from registry_app.mirror.registries import Registries
from registry_app.mirror.snapshot import Snapshot, decode_snapshot
from tests.reference_server import make_claim, make_record, make_zone


def _decode(body: bytes) -> Snapshot:
    return decode_snapshot(body, [], max_items=1_000)


def test_it_tells_record_sets_and_claims_apart() -> None:
    snapshot = _decode(encode_endpoints(make_zone(count=5)))

    assert (len(snapshot.records), len(snapshot.claims), snapshot.item_count) == (5, 5, 10)
    assert {record.owner_id for record in snapshot.records} == {"blue-cluster"}


def test_endpoints_of_one_key_become_one_record_set_with_all_their_targets() -> None:
    targets = [(f"192.0.2.{number}",) for number in (1, 2, 2)]

    snapshot = _decode(encode_endpoints(make_record(targets=target) for target in targets))

    assert [record.endpoint.targets for record in snapshot.records] == [("192.0.2.1", "192.0.2.2")]


def test_set_identifiers_tell_record_sets_apart() -> None:
    zone = [make_record(set_identifier="eu"), make_record(set_identifier="us")]

    snapshot = _decode(encode_endpoints(zone))

    assert [record.key.set_identifier for record in snapshot.records] == ["eu", "us"]


def test_an_owner_id_no_column_holds_makes_its_record_set_unknown() -> None:
    zone = [make_record(), make_claim(owner="o" * 256)]

    snapshot = _decode(encode_endpoints(zone))

    assert [(record.state, record.owner_id) for record in snapshot.records] == [("unknown", "")]
    assert [(claim.verdict, claim.owner_id) for claim in snapshot.claims] == [("unreadable", "")]


def test_a_record_type_no_column_holds_is_set_aside() -> None:
    zone = [make_record(), make_record("odd.example.org", "T" * 21)]

    snapshot = _decode(encode_endpoints(zone))

    assert [record.key.name for record in snapshot.records] == ["www.example.org"]
    assert [item.name for item in snapshot.set_aside] == ["odd.example.org"]


def test_what_is_set_aside_casts_doubt_on_what_it_may_claim() -> None:
    bad_claim = b'{"dnsName":"a-www.example.org","recordType":"TXT","recordTTL":-1}'
    body = encode_endpoints([make_record(), make_record("other.example.org")])

    snapshot = _decode(body.replace(b"[", b"[" + bad_claim + b",", 1))

    assert {record.key.name: record.state for record in snapshot.records} == {
        "www.example.org": "unknown",
        "other.example.org": "unmanaged",
    }


@pytest.mark.parametrize("body", [b"", b"{}", b"[", b"[]]", b'[{"dnsName":"www.example.org"}'])
def test_a_body_that_cannot_be_trusted_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        _decode(body)


def test_a_body_cut_anywhere_is_refused() -> None:
    body = encode_endpoints(make_zone(count=2))

    accepted = [at for at in range(len(body)) if _is_accepted(body[:at])]

    assert accepted == []


@given(st.binary(max_size=300))
def test_no_body_ends_in_anything_but_a_snapshot_or_a_wire_error(body: bytes) -> None:
    assert _is_accepted(body) in {True, False}


def _is_accepted(body: bytes) -> bool:
    try:
        _decode(body)
    except WireError:
        return False
    return True


def test_a_wildcard_whose_claim_was_set_aside_is_not_taken_for_unmanaged() -> None:
    profile = TxtProfile(wildcard_replacement="any")
    claim = msgspec.structs.replace(make_claim("*.example.org", profile=profile), record_ttl=-1)
    body = encode_endpoints([make_record("*.example.org"), claim])

    snapshot = decode_snapshot(body, [profile], max_items=10)

    assert [record.state for record in snapshot.records] == ["unknown"]


def test_a_name_beyond_ascii_whose_claim_was_set_aside_is_not_taken_for_unmanaged() -> None:
    claim = msgspec.structs.replace(make_claim("münchen.example.org"), record_ttl=-1)

    snapshot = _decode(encode_endpoints([make_record("münchen.example.org"), claim]))

    assert [record.state for record in snapshot.records] == ["unknown"]


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        (rb"\\052.example.org", "*.example.org"),
        (rb"\u0077ww.example.org", "www.example.org"),
        ("MÜNCHEN.example.org".encode(), "xn--mnchen-3ya.example.org"),
    ],
)
def test_an_item_that_is_no_json_still_keeps_its_record_set_from_vanishing(
    spelling: bytes, name: str
) -> None:
    snapshot = _decode(b'[{"dnsName":"' + spelling + b'","recordType":"A","recordTTL":NaN}]')

    assert name in snapshot.set_aside_names


def test_where_an_owner_keeps_no_claims_nothing_is_unmanaged() -> None:
    zone = [make_record("www.blind.example.org"), make_record("www.example.org")]
    zone += [make_record("api.blind.example.org"), make_claim("api.blind.example.org")]
    registries = Registries(without_claims=("blind.example.org",))

    snapshot = decode_snapshot(encode_endpoints(zone), [], registries, max_items=10)

    assert {record.key.name: record.state for record in snapshot.records} == {
        "www.blind.example.org": OwnershipState.UNKNOWN,
        "www.example.org": OwnershipState.UNMANAGED,
        "api.blind.example.org": OwnershipState.OWNED,
    }


@pytest.mark.parametrize(
    ("suffix", "name", "may_lack_claim"),
    [
        ("example.org", "example.org", True),
        ("example.org", "www.example.org", True),
        ("example.org", "wwwexample.org", False),
        (".example.org", "example.org", False),
        (".example.org", "www.example.org", True),
    ],
)
def test_a_suffix_with_a_leading_dot_holds_only_what_lies_below(
    suffix: str, name: str, *, may_lack_claim: bool
) -> None:
    assert Registries(without_claims=(suffix,)).may_lack_claim(name) is may_lack_claim


def test_the_same_claims_of_a_store_in_another_order_are_the_same_answer() -> None:
    body = encode_endpoints([make_record("www.example.org"), make_record("api.example.org")])
    claims = [
        StoredClaim(EndpointKey(name, "A", ""), "heritage=external-dns,external-dns/owner=blue-cluster")
        for name in ("www.example.org", "api.example.org")
    ]

    there = _decode_with(body, claims)
    back = _decode_with(body, claims[::-1])
    fewer = _decode_with(body, claims[:1])

    assert there.body_digest == back.body_digest
    assert len({there.body_digest, fewer.body_digest, _decode(body).body_digest}) == 3
    assert [record.owner_id for record in fewer.records] == ["", "blue-cluster"]


def _decode_with(body: bytes, claims: list[StoredClaim]) -> Snapshot:
    contents = StoreContents("7", "configmap", tuple(claims))
    return decode_snapshot(body, [], Registries(stores=("7",)), (contents,), max_items=10)
