"""A sync that reads what changed alone stores what a whole reading would store."""

import itertools
import random
from collections.abc import Sequence

import pytest
from django.db.models import Model
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import encode_endpoints
from registry_app.mirror.registries import fetch_txt_profiles
from registry_app.mirror.snapshot import decode_snapshot
from registry_app.mirror.snapshot_facts import gather_facts
from registry_app.models import (
    Claim,
    Finding,
    Provider,
    RecordEvent,
    RecordSet,
    RegistryProfile,
    SnapshotIndex,
    SyncRun,
)
from tests.depth import PARTIAL_READINGS
from tests.factories import make_provider
from tests.reference_server import make_zone
from tests.registry_app.reconcile.serving import serve_body
from tests.registry_app.reconcile.test_any_zone import PROFILES, RECORDS, TXTS

_numbers = itertools.count(1)
# Beside these the changing part of a zone is small enough to be read alone.
_OTHERS = make_zone(count=150)
_ELEMENTS = st.one_of(RECORDS, TXTS)
_EDITS = st.tuples(
    st.lists(_ELEMENTS, max_size=3), st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from(["", "", "shuffled"])
)


def _edit(
    zone: Sequence[Endpoint], fresh: Sequence[Endpoint], gone: float, dice: random.Random
) -> list[Endpoint]:
    edited = [each for each in zone if dice.random() >= gone]
    for each in fresh:
        edited.insert(dice.randrange(len(edited) + 1), each)
    return edited


def _make_side(name: str) -> Provider:
    return make_provider(f"{name}-{next(_numbers)}")


def _sync_with(provider: Provider, zone: Sequence[Endpoint]) -> SyncRun:
    return serve_body(provider, encode_endpoints([*zone, *_OTHERS]))


_RECORD_FIELDS = (
    *("name", "record_type", "set_identifier", "targets", "ttl", "provider_specific", "labels", "state"),
    *("owner_id", "resource", "beliefs", "digest", "missing_snapshots"),
)
_CLAIM_FIELDS = (
    *("identity", "txt_name", "set_identifier", "raw", "format", "verdict", "record_name", "record_type"),
    *("owner_id", "resource", "labels", "registry_profile_id", "is_encrypted", "problem", "digest"),
)
_EVENT_FIELDS = ("name", "record_type", "set_identifier", "kind", "before", "after", "writer")
_FINDING_FIELDS = (
    *("kind", "severity", "owner_id", "name", "record_type", "set_identifier", "explanation", "suggestion"),
    *("details", "state", "occurrences"),
)
_RUN_FIELDS = (
    *("status", "seen", "created", "changed", "vanished", "returned", "set_aside", "claims", "body_digest"),
)


def _describe(provider: Provider) -> set[str]:
    """All that syncs wrote about a provider, without keys, times and its name."""
    tables: tuple[tuple[type[Model], tuple[str, ...]], ...] = (
        (RecordSet, _RECORD_FIELDS),
        (Claim, _CLAIM_FIELDS),
        (RecordEvent, _EVENT_FIELDS),
        (Finding, _FINDING_FIELDS),
        (SyncRun, _RUN_FIELDS),
    )
    texts = [
        f"{model.__name__} {number if model is SyncRun else ''} {[getattr(row, each) for each in fields]}"
        for model, fields in tables
        for number, row in enumerate(model._default_manager.filter(provider=provider).order_by("pk"))
    ]
    found = {text.replace(provider.name, "").replace(f"'provider_id': {provider.pk}", "") for text in texts}
    return found | {f"{provider.record_set_count} {provider.claim_count} {provider.status}"}


@pytest.mark.django_db(transaction=True)
@settings(max_examples=PARTIAL_READINGS, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(_ELEMENTS, max_size=25),
    st.lists(_EDITS, min_size=1, max_size=3),
    st.sets(st.sampled_from(range(len(PROFILES)))),
    st.randoms(use_true_random=False),
)
def test_after_any_changes_it_is_as_if_everything_had_been_read(
    zone: list[Endpoint],
    edits: list[tuple[list[Endpoint], float, str]],
    chosen: set[int],
    dice: random.Random,
) -> None:
    RegistryProfile.objects.all().delete()
    for number in sorted(chosen):
        RegistryProfile.objects.create(name=f"profile {number}", **PROFILES[number])
    part, whole = _make_side("part"), _make_side("whole")
    for side in (part, whole):
        if _sync_with(side, zone).status == SyncRun.Status.HELD:
            return
    for fresh, gone, order in edits:
        zone = _edit(zone, fresh, gone, dice)
        if order:
            dice.shuffle(zone)
        SnapshotIndex.objects.filter(provider=whole).delete()
        read_part, _ = _sync_with(part, zone), _sync_with(whole, zone)
        event(f"in part: {read_part.items_read is not None}")

        assert _describe(part) ^ _describe(whole) == set()
        if read_part.status == SyncRun.Status.HELD:
            return
        index = SnapshotIndex.objects.filter(provider=part).first()
        snapshot = decode_snapshot(
            encode_endpoints([*zone, *_OTHERS]), fetch_txt_profiles(part), max_items=1_000
        )
        if index is not None:
            facts = gather_facts(snapshot)
            assert index.claims_by_owner == dict(facts.claims_by_owner)
            assert index.record_sets_by_owner == dict(facts.record_sets_by_owner)
            assert set(index.names_in_order) >= facts.names_in_order
