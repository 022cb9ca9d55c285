"""A response that is read slice by slice says what it says as a whole."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from providers.registries.claim import TxtProfile
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import encode_endpoints
from registry_app.mirror.element_index import describe_elements
from registry_app.mirror.registries import NO_REGISTRIES
from registry_app.mirror.sliced_response import SlicedResponse, slice_response
from registry_app.mirror.snapshot import Snapshot, build_snapshot, decode_snapshot
from registry_app.reconcile.rows.comparison import resource_of
from registry_app.reconcile.rows.record_digest import (
    compute_claim_digest,
    compute_claim_identity,
    compute_record_digest,
    describe_beliefs,
)
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.reconcile.test_any_zone import PROFILES, RECORDS, TXTS

pytestmark = pytest.mark.one_database


def _build_profiles(chosen: Sequence[int]) -> list[TxtProfile]:
    made = []
    for number in chosen:
        settings = dict(PROFILES[number])
        key = settings.pop("encryption_key", None)
        made.append(
            TxtProfile(reference=str(number), encryption_key=key.encode() if key else None, **settings)
        )
    return made


def _tell(snapshot: Snapshot) -> Iterator[object]:
    """All that is stored of a snapshot."""
    for record in snapshot.records:
        beliefs = describe_beliefs(snapshot, record) if record.beliefs else ()
        yield record.key, compute_record_digest(record, resource_of(snapshot, record), beliefs)
    for claim in snapshot.claims:
        yield compute_claim_identity(claim), compute_claim_digest(claim)


def _read_slices(sliced: SlicedResponse, profiles: Sequence[TxtProfile]) -> Iterator[Snapshot]:
    for positions in sliced.slices:
        decoded = sliced.decode(positions)
        yield build_snapshot(decoded, profiles, NO_REGISTRIES, (), body=b"", body_digest="")


@given(
    st.lists(st.one_of(RECORDS, TXTS), min_size=1, max_size=40),
    st.sets(st.sampled_from(range(len(PROFILES)))),
    st.booleans(),
)
def test_all_slices_together_say_what_the_whole_says(
    zone: list[Endpoint], chosen: set[int], has_poison: bool
) -> None:
    profiles = _build_profiles(sorted(chosen))
    poison = [make_record("a-www.example.org", "TXT", ("x",), set_identifier="x" * 300)]
    body = encode_endpoints([*zone, *(poison if has_poison else [])])
    whole = decode_snapshot(body, profiles, max_items=100)

    sliced = slice_response(body, profiles, max_items=100, size=1)

    event(f"slices: {0 if sliced is None else min(len(sliced.slices), 5)}")
    if sliced is None:
        assert not all(each.dns_name.isascii() for each in zone)
        return
    told = Counter(each for part in _read_slices(sliced, profiles) for each in _tell(part))
    assert told == Counter(_tell(whole))
    assert {claim.owner_id for claim in whole.claims} <= {*sliced.owner_ids, ""}
    assert [each.reason for each in sliced.set_aside] == [each.reason for each in whole.set_aside]
    described = [each for chunk in sliced.described.iterate_chunks() for each in chunk]
    assert described == describe_elements(whole.listed)


def test_a_claim_is_in_the_slice_of_its_record_set_wherever_it_stands() -> None:
    zone = make_zone(count=50)
    random.Random(1).shuffle(zone)

    sliced = slice_response(encode_endpoints(zone), [], max_items=1_000, size=10)

    assert sliced is not None
    assert len(sliced.slices) > 5
    for snapshot in _read_slices(sliced, []):
        assert all(record.owner_id == "blue-cluster" for record in snapshot.records)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"dnsName": "app.example.org"}',
        encode_endpoints(make_zone(count=11)),
        encode_endpoints([make_claim("a-m\u00fcnchen.example.org")]),
    ],
)
def test_what_slices_do_not_tell_is_left_to_the_whole(body: bytes) -> None:
    assert slice_response(body, [], max_items=20) is None
