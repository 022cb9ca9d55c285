"""Whatever an instance asks for whose claims are in the database, what is not its own stays (I12).

DNSADMIN_TEST_EXAMPLES=100000 tries more, as in test_hostile_bodies.py.
"""

from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import OwnershipState, Pairing, TxtProfile
from providers.registries.join_stores import join_stores
from providers.registries.labels import parse_labels
from providers.registries.pairing import pair
from providers.registries.stored_claim import StoreContents, StoredClaim
from providers.wire.change_set import ChangeSet, build_change_set
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_codec import DecodedRecords, decode_change_set_strict, encode_change_set
from registry_app.guard.asked import read_change_set
from registry_app.guard.judge import Judge
from registry_app.guard.kept_claims import KeptClaims
from registry_app.guard.kept_zone import KeptZone
from registry_app.guard.unit import Caller
from registry_app.guard.zone import build_zone
from registry_app.mirror.registries import NO_REGISTRIES
from registry_app.mirror.snapshot import build_snapshot
from tests.depth import examples
from tests.external_dns.recordings import KEY
from tests.reference_server import make_claim, make_record
from tests.registry_app.guard.test_hostile_bodies import (
    BLUE,
    GREEN,
    PROFILES,
    ZONE,
    apply_to,
    change_sets,
)

pytestmark = pytest.mark.one_database
_KEPT, _ANOTHERS = "8", "9"
# Names that the change sets are about, here without a claim in the zone.
_BARE = ("mine.example.org", "www.example.org", "set.example.org")
_ENDPOINTS = [
    *(each for each in ZONE if each.record_type != "TXT" or not any(bare in each.dns_name for bare in _BARE)),
    make_claim("orphan.example.org", owner=GREEN),
]


def _row(owner: str, name: str, kind: str = "A", identifier: str = "") -> StoredClaim:
    key = EndpointKey(name, kind, identifier)
    return StoredClaim(key, f"heritage=external-dns,external-dns/owner={owner}")


_ROWS = (
    _row(BLUE, "mine.example.org"),
    _row(GREEN, "www.example.org"),
    _row(GREEN, "set.example.org", identifier="green"),
    # Of what is not there.
    _row(GREEN, "new.example.org", "CNAME"),
    _row(BLUE, "any.wild.example.org"),
    StoredClaim(EndpointKey("new.example.org", "A", ""), _row(GREEN, "x").text, meant_targets=("192.0.2.7",)),
)
_OTHER_ROWS = (_row(GREEN, "www.example.org", "AAAA"),)


def _contents(rows: tuple[StoredClaim, ...]) -> tuple[StoreContents, ...]:
    return (StoreContents(_KEPT, "database", rows), StoreContents(_ANOTHERS, "database", _OTHER_ROWS))


@dataclass(frozen=True)
class _Scene:
    """A zone, and the profiles it is read under."""

    endpoints: list[Endpoint]
    profiles: list[TxtProfile]

    def pair(self, endpoints: list[Endpoint], rows: tuple[StoredClaim, ...]) -> Pairing:
        return join_stores(pair(endpoints, self.profiles), _contents(rows), self.profiles)


_PLAIN = _Scene(_ENDPOINTS, list(PROFILES))


def _with_copies(profile: TxtProfile) -> _Scene:
    """The zone with copies of two of the rows in this format."""
    plain = msgspec.structs.replace(profile, encryption_key=None)
    copies = [
        make_claim("www.example.org", owner=GREEN, profile=plain),
        make_claim("mine.example.org", owner=BLUE, profile=plain),
    ]
    kept = msgspec.structs.replace(profile, reference=_KEPT)
    return _Scene([*_ENDPOINTS, *copies], [*PROFILES, kept])


def _judge(
    change_set: ChangeSet, profile: TxtProfile, scene: _Scene = _PLAIN
) -> tuple[ChangeSet, tuple[StoredClaim, ...]]:
    """What the guard would send, and the rows then."""
    try:
        decoded = decode_change_set_strict(encode_change_set(change_set), max_items=1_000)
    except WireError:
        return ChangeSet(), _ROWS
    changes, _ = read_change_set(decoded, {KEY})
    read = DecodedRecords(scene.endpoints, [])
    snapshot = build_snapshot(read, scene.profiles, NO_REGISTRIES, _contents(_ROWS), body=b"", body_digest="")
    zone = build_zone(snapshot, scene.endpoints)
    kept = KeptZone(
        zone, KeptClaims(int(_KEPT), msgspec.structs.replace(profile, reference=_KEPT)), BLUE, frozenset()
    )
    caller = Caller(
        owner_id=BLUE,
        is_managed=lambda _: True,
        is_in_patterns=lambda _: True,
        may_share=lambda _, __: False,
        find_hidden=lambda _, *, whatever: {},
        find_stop=lambda _: "",
    )
    judge = Judge(kept.shown, caller, changes)
    judged = kept.check(judge, judge.judge())
    split = kept.split(judge.build_edits(judged, judged.passing))
    rows = {row.key: row for row in _ROWS}
    for key, change in {**split.now, **split.later}.items():
        assert change.old == (rows[key].text if key in rows else None)
        rows.pop(key, None)
        if change.new is not None:
            rows[key] = StoredClaim(key, change.new)
    built = build_change_set([(zone.find(key), new) for key, new in split.edits.items()], {})
    return built, tuple(rows.values())


def _others(pairing: Pairing) -> dict[EndpointKey, tuple[Endpoint, OwnershipState, str]]:
    return {
        record.key: (record.endpoint, record.state, record.owner_id)
        for record in pairing.records
        if record.owner_id != BLUE
    }


def _foreign_texts(pairing: Pairing) -> set[tuple[str, str]]:
    return {
        (claim.endpoint.dns_name, claim.raw)
        for claim in pairing.claims
        if claim.is_in_zone and claim.owner_id != BLUE
    }


_BEFORE = _PLAIN.pair(_ENDPOINTS, _ROWS)
_SETTLED = {row for row in _ROWS if "green" in row.text and row.is_settled}


@pytest.mark.random
@settings(max_examples=examples(10_000))
@given(change_sets(), st.sampled_from(PROFILES))
def test_what_is_not_its_own_stays_byte_for_byte(change_set: ChangeSet, profile: TxtProfile) -> None:
    sent, rows = _judge(change_set, profile)
    after = _PLAIN.pair(apply_to(_ENDPOINTS, sent), rows)

    found, before = _others(after), _others(_BEFORE)
    assert {key: found.get(key) for key in before} == before
    assert _foreign_texts(after) == _foreign_texts(_BEFORE)
    assert set(rows) >= _SETTLED
    # Nor is anything made that belongs to somebody else, and no other claim goes into the zone.
    assert not [key for key in found.keys() - before.keys() if found[key][2]]
    texts = [each for each in (*sent.create, *sent.update_new) if each.record_type == "TXT"]
    written = [target for each in texts for target in each.targets]
    kept = {target for each in _ENDPOINTS for target in each.targets}
    assert not [each for each in written if parse_labels(each) is not None and each not in kept]


@pytest.mark.random
@settings(max_examples=examples(5_000))
@given(change_sets(), st.sampled_from(PROFILES))
def test_nor_does_a_copy_of_anothers_claim_change(change_set: ChangeSet, profile: TxtProfile) -> None:
    scene = _with_copies(profile)
    before = scene.pair(scene.endpoints, _ROWS)

    sent, rows = _judge(change_set, profile, scene)
    after = scene.pair(apply_to(scene.endpoints, sent), rows)

    found, known = _others(after), _others(before)
    assert {key: found.get(key) for key in known} == known
    assert _foreign_texts(after) == _foreign_texts(before)
    assert set(rows) >= _SETTLED
    assert not [key for key in found.keys() - known.keys() if found[key][2]]


def test_what_is_asked_for_in_its_format_passes() -> None:
    for profile in PROFILES:
        if profile.encryption_key is not None:
            continue
        claim = make_claim("fresh.example.org", owner=BLUE, profile=profile)
        change_set = ChangeSet(
            create=(make_record("fresh.example.org"), claim), delete=(make_record("mine.example.org"),)
        )

        sent, rows = _judge(change_set, profile)

        assert [each.dns_name for each in (*sent.create, *sent.delete)] == [
            "fresh.example.org",
            "mine.example.org",
        ]
        names = {row.key.name for row in rows if BLUE in row.text}
        assert names == {"fresh.example.org", "any.wild.example.org"}
