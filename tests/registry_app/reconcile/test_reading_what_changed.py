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
from registry_app.clock import fetch_now
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
    SnapshotIndexChunk,
    SyncRun,
)
from registry_app.reconcile.check_partial_syncs import PARTIAL_SYNCS_BEFORE_A_WHOLE_ONE
from registry_app.reconcile.findings.find_all import MOST_OF_A_KIND
from registry_app.reconcile.rows.bulk import insert_rows, stored_time
from tests.depth import PARTIAL_READINGS
from tests.factories import make_provider
from tests.project.operations.scraping import Counted
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.reconcile.serving import serve_body
from tests.registry_app.reconcile.test_any_zone import PROFILES, RECORDS, TXTS

_numbers = itertools.count(1)
HERITAGE = '"heritage=external-dns,external-dns/owner=blue-cluster"'
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


def _owned(name: str, owner_id: str = "blue-cluster", target: str = "192.0.2.9") -> list[Endpoint]:
    return [make_record(name, "A", (target,)), make_claim(name, "A", owner_id)]


def _sync_in_turn(provider: Provider, *zones: Sequence[Endpoint]) -> SyncRun:
    """Sync with each; the run of the last one."""
    return [_sync_with(provider, zone) for zone in zones][-1]


@pytest.mark.django_db
def test_a_changed_record_set_is_read_with_its_claim_and_nothing_else() -> None:
    provider = make_provider("blue-zone")

    run = _sync_in_turn(provider, _owned("app.example.org"), _owned("app.example.org", target="192.0.2.10"))

    assert (run.status, run.items_read, run.changed, run.seen) == (SyncRun.Status.STORED, 2, 1, 151)
    record_set = RecordSet.objects.get(name="app.example.org", owner__owner_id="blue-cluster")
    assert record_set.targets == ["192.0.2.10"]


@pytest.mark.django_db
def test_a_change_in_another_order_is_found_too() -> None:
    provider = make_provider("blue-zone")
    _sync_with(provider, _owned("app.example.org"))

    body = encode_endpoints([*_OTHERS[::-1], *_owned("app.example.org", target="192.0.2.10")])
    run = serve_body(provider, body)

    assert (run.status, run.items_read, run.changed) == (SyncRun.Status.STORED, 2, 1)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        ([make_record("app.example.org")], _owned("app.example.org"), "owned"),
        (_owned("app.example.org"), [make_record("app.example.org")], "unmanaged"),
        # The legacy claim of the same name takes over.
        (
            [*_owned("app.example.org"), make_record("app.example.org", "TXT", (HERITAGE,))],
            [make_record("app.example.org"), make_record("app.example.org", "TXT", (HERITAGE,))],
            "owned",
        ),
    ],
)
def test_a_claim_that_comes_or_goes_decides_over_its_record_set(
    before: list[Endpoint], after: list[Endpoint], state: str
) -> None:
    provider = make_provider("blue-zone")

    run = _sync_in_turn(provider, before, after)

    assert run.items_read is not None
    assert RecordSet.objects.get(name="app.example.org", record_type="A").state == state


@pytest.mark.django_db
def test_a_record_set_that_goes_leaves_its_claim_as_an_orphan() -> None:
    provider = make_provider("blue-zone")

    run = _sync_in_turn(provider, _owned("app.example.org"), _owned("app.example.org")[1:])

    assert (run.items_read, run.vanished) == (1, 1)
    assert Finding.objects.get(kind=Finding.Kind.ORPHAN_CLAIM).name == "app.example.org"


@pytest.mark.django_db
def test_findings_about_other_names_stay_as_they_are() -> None:
    provider = make_provider("blue-zone")
    orphan = _owned("gone.example.org")[1:]
    _sync_in_turn(provider, [*orphan, *_owned("app.example.org")])
    finding = Finding.objects.get(kind=Finding.Kind.ORPHAN_CLAIM)

    _sync_with(provider, [*orphan, *_owned("app.example.org", target="192.0.2.10")])

    assert Finding.objects.get(kind=Finding.Kind.ORPHAN_CLAIM).last_seen_at == finding.last_seen_at
    assert Finding.objects.get(kind=Finding.Kind.UNREGISTERED_OWNER).details == {"claims": 152}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("odd", "why"),
    [
        (
            [Endpoint("app.example.org", ("192.0.2.1",), "A", labels={"owner": "blue-cluster"})],
            SyncRun.WholeReading.NOT_COUNTED,
        ),
        ([make_record("a-münchen.example.org", "TXT", (HERITAGE,))], SyncRun.WholeReading.ODD_ITEMS),
        (
            [make_record("app.example.org", "A", (), set_identifier="x" * 300)],
            SyncRun.WholeReading.ODD_ITEMS,
        ),
        (make_zone(count=100, domain="example.net"), SyncRun.WholeReading.MANY_ITEMS),
    ],
)
def test_what_a_part_cannot_tell_is_read_as_a_whole_and_the_run_says_why(
    odd: Sequence[Endpoint], why: str
) -> None:
    provider = make_provider("blue-zone")

    run = _sync_in_turn(provider, _owned("www.example.org"), [*_owned("www.example.org"), *odd])

    assert (run.items_read, run.whole_reading) == (None, why)
    assert run.store_milliseconds is not None


@pytest.mark.django_db
def test_what_was_set_aside_before_is_set_aside_still() -> None:
    provider = make_provider("blue-zone")
    poison = make_record("bad.example.org", "A", (), set_identifier="x" * 300)

    run = _sync_in_turn(
        provider,
        [poison, *_owned("app.example.org")],
        [poison, *_owned("app.example.org", target="192.0.2.10")],
    )

    assert (run.items_read, run.set_aside, run.changed) == (3, 1, 1)
    assert Finding.objects.get(kind=Finding.Kind.SET_ASIDE).state == Finding.State.OPEN


@pytest.mark.django_db
def test_after_a_registry_profile_was_added_all_is_read_with_it() -> None:
    provider = make_provider("blue-zone")
    _sync_with(provider, _owned("app.example.org"))
    RegistryProfile.objects.create(name="prefixed", prefix="own-")

    run = _sync_with(provider, _owned("app.example.org", target="192.0.2.10"))

    assert (run.status, run.items_read) == (SyncRun.Status.STORED, None)
    assert run.whole_reading == SyncRun.WholeReading.SETTINGS


@pytest.mark.django_db
def test_what_was_held_decides_only_until_something_was_stored() -> None:
    provider = make_provider("blue-zone")
    zone = [each for number in range(100) for each in _owned(f"app-{number}.example.net")]
    _sync_in_turn(provider, zone, [])
    cleared = _sync_with(provider, [*zone, make_record("one.example.net")])
    serve_body(provider, b"no JSON")

    run = _sync_with(provider, [*zone, make_record("two.example.net")])

    assert cleared.whole_reading == SyncRun.WholeReading.HELD_BEFORE
    assert (run.status, run.items_read, run.whole_reading) == (SyncRun.Status.STORED, 1, "")


@pytest.mark.django_db
def test_now_and_then_all_is_read_and_compared() -> None:
    provider = make_provider("blue-zone")
    _sync_with(provider, _owned("app.example.org"))
    SnapshotIndex.objects.update(partial_syncs=PARTIAL_SYNCS_BEFORE_A_WHOLE_ONE)

    run = _sync_with(provider, _owned("app.example.org", target="192.0.2.10"))

    assert (run.status, run.items_read) == (SyncRun.Status.STORED, None)
    assert run.whole_reading == SyncRun.WholeReading.CHECK
    assert not Finding.objects.filter(kind=Finding.Kind.READINGS_DIFFER).exists()
    assert SnapshotIndex.objects.get().partial_syncs == 0


@pytest.mark.django_db
def test_where_the_two_differ_the_whole_is_stored_and_a_finding_tells() -> None:
    provider = make_provider("blue-zone")
    _sync_with(provider, _owned("app.example.org"))
    # As if an earlier part had counted wrongly.
    SnapshotIndex.objects.update(
        claims_by_owner={"blue-cluster": 7}, partial_syncs=PARTIAL_SYNCS_BEFORE_A_WHOLE_ONE
    )

    counted = Counted()
    _sync_with(provider, _owned("app.example.org", target="192.0.2.10"))

    assert counted("dnsadmin_sync_readings_differed_total", provider=provider.name) == 1
    finding = Finding.objects.get(kind=Finding.Kind.READINGS_DIFFER)
    assert "151 claims name blue-cluster" in finding.explanation
    assert SnapshotIndex.objects.get().claims_by_owner == {"blue-cluster": 151}
    SnapshotIndex.objects.update(partial_syncs=PARTIAL_SYNCS_BEFORE_A_WHOLE_ONE)
    _sync_with(provider, _owned("app.example.org", target="192.0.2.11"))
    finding.refresh_from_db()
    assert finding.state == Finding.State.RESOLVED


@pytest.mark.django_db
def test_many_record_sets_that_vanish_at_once_are_held_as_ever() -> None:
    provider = make_provider("blue-zone", hold_missing_percent=10)
    zone = [each for number in range(40) for each in _owned(f"app-{number}.example.net")]

    run = _sync_in_turn(provider, zone, [])

    assert (run.status, run.whole_reading) == (SyncRun.Status.HELD, SyncRun.WholeReading.IMPLAUSIBLE)
    assert not RecordSet.objects.filter(missing_since__isnull=False).exists()


@pytest.mark.django_db
def test_all_is_read_only_where_a_kind_of_findings_may_be_beyond_its_bound() -> None:
    provider = make_provider("blue-zone")
    _sync_with(provider, orphans := [make_claim(f"gone-{number}.example.org") for number in range(12)])
    _store_orphans_beside(provider, MOST_OF_A_KIND - 12 - len(orphans))
    more = [make_claim(f"more-{number}.example.org") for number in range(12)]
    # Twelve record sets with their claims have no finding, twelve orphans go, and twelve others come.
    for zone in ([*orphans, *make_zone(count=12, domain="example.net")], more, [*more, *orphans]):
        assert _sync_with(provider, zone).items_read is not None

    run = _sync_with(provider, [*more, *orphans, make_claim("one-too-many.example.org")])

    assert (run.items_read, run.whole_reading) == (None, SyncRun.WholeReading.MANY_FINDINGS)
    # Those that were only stored are gone, since all was read.
    assert Finding.objects.filter(kind=Finding.Kind.ORPHAN_CLAIM).exclude(state="resolved").count() == 25


def _store_orphans_beside(provider: Provider, count: int) -> None:
    """Findings about names that no part of the zone has."""
    at = stored_time(fetch_now())
    values = (Finding.Kind.ORPHAN_CLAIM.value, 20, provider.pk, "", "", "", "{}", "{}", "open", at, at, 1, "")
    columns = (
        *("kind", "severity", "provider_id", "record_type", "set_identifier", "explanation", "suggestion"),
        *("details", "state", "first_seen_at", "last_seen_at", "occurrences", "acknowledged_by"),
    )
    rows = [(number.to_bytes(16, "big"), f"beside-{number}.example.net", *values) for number in range(count)]
    insert_rows(Finding, ("fingerprint", "name", *columns), rows)


@pytest.mark.django_db
def test_chunks_that_a_killed_sync_left_do_not_count() -> None:
    provider = make_provider("blue-zone")
    _sync_with(provider, _owned("app.example.org"))
    generation = SnapshotIndex.objects.get().generation
    left = SnapshotIndexChunk.objects.filter(number=0).values("digest", "hashes", "name_keys", "names").get()
    SnapshotIndexChunk.objects.create(provider=provider, generation=generation + 1, number=0, **left)
    Provider.objects.update(accepted_digest="")

    run = _sync_in_turn(provider, _owned("app.example.org"), _owned("app.example.org", target="192.0.2.10"))

    assert (run.status, run.items_read) == (SyncRun.Status.STORED, 2)
    assert SnapshotIndexChunk.objects.values_list("generation").distinct().count() == 1


@pytest.mark.django_db
def test_where_the_order_counts_a_name_is_read_in_each_order() -> None:
    provider = make_provider("blue-zone")
    record, blue, green = (
        make_record("app.example.org"),
        make_claim("app.example.org", owner="blue-cluster"),
        make_claim("app.example.org", owner="green-cluster"),
    )
    _sync_with(provider, [record, blue, green])

    run = _sync_with(provider, [record, green, blue])

    # ExternalDNS goes by the last claim that it reads for a place.
    assert (run.items_read, run.changed) == (3, 1)
    assert RecordSet.objects.filter(name="app.example.org", owner__owner_id="blue-cluster").exists()


@pytest.mark.django_db
def test_a_record_set_stays_while_an_item_set_aside_may_be_it() -> None:
    provider = make_provider("blue-zone")
    poison = make_record("app.example.org", "A", (), set_identifier="x" * 300)

    _sync_in_turn(provider, [poison, *_owned("www.example.org")], [poison, *_owned("app.example.org")])
    run = _sync_with(provider, [poison, *_owned("www.example.org")])

    assert run.vanished == 0
    assert RecordSet.objects.filter(name="app.example.org", missing_since__isnull=True).exists()
