"""What instances are shown is the same, brought up to date change by change or read anew."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import TxtProfile
from providers.registries.stored_claim import StoredClaim
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.json_codec import encode_endpoints
from registry_app.guard.shown_claims import ClaimShower
from registry_app.guard.zone_truth import Sources, Store, ZoneTruth, build_truth, update_truth
from registry_app.mirror.registries import NO_REGISTRIES
from tests.depth import examples
from tests.reference_server import make_claim, make_record

pytestmark = pytest.mark.one_database
_OWNERS = ("blue-cluster", "green-cluster")
_NAMES = ("www.example.org", "api.example.org", "any.example.org", "*.example.org", "a-www.example.org")
_KEPT = TxtProfile(reference="8", prefix="own.", wildcard_replacement="any")
_PROFILES = (TxtProfile(), TxtProfile(reference="2", wildcard_replacement="any"), _KEPT)
_OTHERS = [make_record(f"other-{number}.example.org") for number in range(150)]


def _build_claims() -> list[Endpoint]:
    typed = [
        make_claim(name, owner=owner, profile=profile)
        for name in _NAMES
        for owner in _OWNERS
        for profile in _PROFILES
    ]
    return [*typed, *(_as_legacy(each) for each in typed[:4])]


def _as_legacy(claim: Endpoint) -> Endpoint:
    return msgspec.structs.replace(claim, dns_name=claim.dns_name.replace("a-", "", 1))


_RECORDS = [
    *(make_record(name) for name in _NAMES),
    *(make_record(name, targets=("192.0.2.9",)) for name in _NAMES[:2]),
    msgspec.structs.replace(make_record("api.example.org", "AAAA", ("2001:db8::1",)), labels={"owner": "x"}),
    make_record("www.example.org", "TXT", ('"plain"',)),
]
_KEYS = [EndpointKey(name, "A", "") for name in _NAMES]
_TEXTS = [f"heritage=external-dns,external-dns/owner={owner}" for owner in _OWNERS]
_ZONES = st.lists(st.sampled_from([*_RECORDS, *_build_claims()]), max_size=8, unique_by=id)
_ROWS = st.lists(
    st.builds(
        StoredClaim,
        st.sampled_from(_KEYS),
        st.sampled_from(_TEXTS),
        meant_targets=st.sampled_from([None, None, ("192.0.2.9",)]),
    ),
    max_size=4,
)


def _sources(zone: Sequence[Endpoint], rows: Sequence[StoredClaim]) -> Sources:
    store = Store("8", "database", {row.key: row for row in rows})
    body = encode_endpoints((*_OTHERS, *zone))
    return Sources(body, [store], _PROFILES, NO_REGISTRIES, 1_000)


def _show(shower: ClaimShower, truth: ZoneTruth) -> list[bytes]:
    return [*truth.list_left(), *shower.list_encoded()]


@pytest.mark.random
@settings(max_examples=examples(2_000))
@given(st.lists(st.tuples(_ZONES, _ROWS), min_size=2, max_size=5), st.sampled_from(("", *_OWNERS)))
def test_after_any_changes_it_is_what_a_new_reading_says(
    steps: list[tuple[list[Endpoint], list[StoredClaim]]], owner_id: str
) -> None:
    truth = build_truth(_sources(*steps[0]))
    shower = ClaimShower(_KEPT, owner_id)
    shower.update(truth.statements, truth.statements)

    for step in steps[1:]:
        sources = _sources(*step)
        updated = update_truth(truth, sources)
        # The same element twice: then all is read again.
        truth, names = updated or (build_truth(sources), None)
        shower.update({*shower.list_names(), *truth.statements} if names is None else names, truth.statements)

        anew, other = build_truth(sources), ClaimShower(_KEPT, owner_id)
        other.update(anew.statements, anew.statements)
        assert _show(shower, truth) == _show(other, anew)
        assert truth.legacy_owners == anew.legacy_owners


def test_one_change_among_many_is_read_alone() -> None:
    zone = [make_record("www.example.org")]
    rows = [StoredClaim(_KEYS[0], _TEXTS[0]), StoredClaim(_KEYS[1], _TEXTS[1])]

    updated = update_truth(build_truth(_sources(zone, rows)), _sources(zone, rows[:1]))

    assert updated is not None
    assert "other-1.example.org" not in updated[1]
    assert "api.example.org" in updated[1]


def test_where_names_do_not_tell_what_follows_all_is_read_again() -> None:
    truth = build_truth(_sources([], []))
    beyond = make_claim("www.example.org")
    spelled = msgspec.structs.replace(beyond, dns_name="a-stra\u00dfe.example.org")

    assert update_truth(truth, _sources([spelled], [])) is None
    assert update_truth(build_truth(_sources([spelled], [])), _sources([], [])) is None
