"""Syncs of the schedule that find nothing new are counted in one row; all others have a row of their own."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from providers.wire.json_codec import encode_endpoints
from registry_app.actor import SYSTEM
from registry_app.models import HeldSnapshot, Provider, RecordEvent, RecordSet, SyncRun
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot
from registry_app.reconcile.lease import take_lease
from registry_app.reconcile.purge_history import purge_history
from registry_app.reconcile.request_sync import request_sync
from registry_app.reconcile.sweep import mark_abandoned_runs
from registry_app.reconcile.sync import sync_provider
from tests.factories import make_provider
from tests.faults import read_faults
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.reconcile.interrupting import AfterReading
from tests.registry_app.reconcile.syncing import sync_by_schedule
from tests.registry_app.transfer.forking import Forks

pytestmark = pytest.mark.django_db


def test_a_day_of_unchanged_syncs_is_one_row() -> None:
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url)
        for _ in range(6):
            sync_by_schedule(provider)

    assert _rows() == [("stored", 1), ("unchanged", 5)]
    counted = SyncRun.objects.first()
    assert counted is not None
    assert counted.repeated_until == provider.last_sync_at
    assert (counted.seen, counted.claims, counted.epoch) == (5, 5, provider.lease_epoch)
    assert provider.accepted_snapshots == 6


def test_a_counted_sync_adds_and_deletes_no_row() -> None:
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url)
        sync_by_schedule(provider)
        sync_by_schedule(provider)

        with CaptureQueriesContext(connection) as statements:
            sync_by_schedule(provider)

    written = [each["sql"] for each in statements if each["sql"].startswith(("INSERT", "DELETE"))]
    assert written == []
    assert len(statements) <= 22  # three of them are the test's


@pytest.mark.parametrize("change", ["value", "fault", "nothing_left"])
def test_a_sync_that_stored_failed_or_held_has_a_row_of_its_own(change: str) -> None:
    expected = {"value": "stored", "fault": "failed", "nothing_left": "held"}[change]
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url)
        sync_by_schedule(provider)
        sync_by_schedule(provider)
        _change(reference, change)

        run = sync_by_schedule(provider)
        reference.faults.clear()
        sync_by_schedule(provider)
        sync_by_schedule(provider)

    assert run is not None
    assert run.status == expected
    after = [("stored", 1), ("unchanged", 1)] if change == "value" else [("unchanged", 2)]
    assert _rows() == [("stored", 1), ("unchanged", 1), (expected, 1), *after]


def test_a_requested_sync_has_a_row_of_its_own_with_the_name() -> None:
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url)
        sync_by_schedule(provider)
        sync_by_schedule(provider)

        request_sync(SYSTEM, provider.pk)
        run = sync_provider(provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.SCHEDULE)
        sync_by_schedule(provider)
        sync_by_schedule(provider)

    assert run is not None
    assert (run.trigger, run.requested_by) == (SyncRun.Trigger.PERSON, SYSTEM.name)
    assert (run.status, run.sync_count) == (SyncRun.Status.UNCHANGED, 1)
    assert _rows() == [("stored", 1), ("unchanged", 1), ("unchanged", 1), ("unchanged", 2)]


def test_what_is_requested_while_a_sync_begins_is_not_forgotten() -> None:
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url)
        sync_by_schedule(provider)
        Provider.objects.update(next_sync_at=None)
        # The lease is taken, then the sync is noted.
        asking = AfterReading(
            "registry_app_provider", lambda: request_sync(SYSTEM, provider.pk), verb="UPDATE", times=2
        )

        with connection.execute_wrapper(asking):
            first = sync_provider(provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.SCHEDULE)
        second = sync_provider(provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.SCHEDULE)

    assert first is not None
    assert second is not None
    assert (first.trigger, second.trigger) == (SyncRun.Trigger.SCHEDULE, SyncRun.Trigger.PERSON)


def test_the_same_records_in_another_body_are_counted_too() -> None:
    body = encode_endpoints(make_zone(count=5))
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url)
        sync_by_schedule(provider)
        for blanks in range(1, 4):
            reference.faults.plan("GET /records", read_faults.body(body + b" " * blanks))
            sync_by_schedule(provider)

    assert _rows() == [("stored", 1), ("unchanged", 3)]


def test_a_sync_that_purges_has_a_row_of_its_own() -> None:
    zone = make_zone(count=5)
    with ReferenceProvider(zone) as reference:
        provider = make_provider(url=reference.url)
        sync_by_schedule(provider)
        reference.faults.plan("GET /records", read_faults.body(encode_endpoints(zone[:8])), times=None)
        for _ in range(4):
            sync_by_schedule(provider)
        RecordSet.objects.filter(missing_since__isnull=False).update(
            missing_since=timezone.now() - timedelta(days=3)
        )

        run = sync_by_schedule(provider)
        sync_by_schedule(provider)

    assert run is not None
    assert (run.status, run.purged) == (SyncRun.Status.UNCHANGED, 1)
    assert RecordEvent.objects.get(kind="purged").sync_run_id == run.pk
    assert _rows() == [("stored", 1), ("stored", 1), ("unchanged", 3), ("unchanged", 1), ("unchanged", 1)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", ["sync.fetched", "sync.before_store", "sync.before_commit"])
@pytest.mark.parametrize("is_swept", [True, False])
def test_a_scheduled_sync_that_was_killed_is_noted_as_abandoned_once(
    forks: Forks, point: str, *, is_swept: bool
) -> None:
    with ReferenceProvider(make_zone(count=10)) as reference:
        provider = make_provider(url=reference.url)
        assert forks.act("sync_by_schedule", provider.pk, crash_at=point).was_killed
        _let_lease_pass(provider)

        swept = mark_abandoned_runs() if is_swept else 0
        run = sync_by_schedule(provider)
        again = mark_abandoned_runs()

    is_open_till_then = point != "sync.fetched" and not is_swept
    assert (swept, again) == (int(is_swept), int(is_open_till_then))
    assert run is not None
    assert run.status == SyncRun.Status.STORED
    assert _rows() == [("abandoned", 1), ("stored", 1)]
    assert (provider.sync_epoch, provider.sync_started_at) == (None, None)


def test_a_slow_sync_that_was_called_abandoned_ends_in_that_row() -> None:
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url)
        sync_by_schedule(provider)
        slow = AfterReading("registry_app_finding", lambda: _sweep_late(provider))

        with connection.execute_wrapper(slow):
            sync_by_schedule(provider)

    last = SyncRun.objects.first()
    assert last is not None
    assert _rows() == [("stored", 1), ("unchanged", 1)]
    assert (last.error_code, last.error) == ("", "")


def test_a_scheduled_sync_that_lost_its_lease_stores_nothing_but_its_end() -> None:
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url)
        sync_by_schedule(provider)
        losing = AfterReading("registry_app_finding", lambda: _lose(provider))

        with connection.execute_wrapper(losing):
            run = sync_by_schedule(provider)

    assert run is not None
    assert (run.status, run.error_code) == (SyncRun.Status.ABANDONED, "lease_lost")
    assert _rows() == [("stored", 1), ("abandoned", 1)]
    assert (provider.lease_holder, provider.accepted_snapshots) == ("next worker", 1)


def test_a_held_snapshot_that_was_accepted_names_the_sync_that_saw_it() -> None:
    with ReferenceProvider(make_zone(count=12)) as reference:
        provider = make_provider(url=reference.url)
        sync_by_schedule(provider)
        reference.faults.plan("GET /records", read_faults.empty_list(), times=None)
        sync_by_schedule(provider)
        held = HeldSnapshot.objects.get()
        accept_held_snapshot(SYSTEM, held.pk, reason="They are gone.")

        run = sync_by_schedule(provider)

    assert run is not None
    assert held.sync_run is not None
    assert (held.sync_run.status, run.status) == (SyncRun.Status.HELD, SyncRun.Status.STORED)


def test_a_row_is_purged_by_the_last_sync_it_counts() -> None:
    provider, now = make_provider(), timezone.now()
    old = _make_counted(provider, until=now - timedelta(days=20))
    current = _make_counted(provider, until=now)

    purge_history()

    assert old.started_at == current.started_at
    assert SyncRun.objects.get() == current


def _rows() -> list[tuple[str, int]]:
    """All syncs, oldest first, and how many each row counts."""
    return list(SyncRun.objects.order_by("pk").values_list("status", "sync_count"))


def _change(reference: ReferenceProvider, change: str) -> None:
    faults = {
        "value": read_faults.body(encode_endpoints(make_zone(count=6))),
        "fault": read_faults.status(500),
        "nothing_left": read_faults.empty_list(),
    }
    reference.faults.plan("GET /records", faults[change])


def _make_counted(provider: Provider, *, until: datetime) -> SyncRun:
    return SyncRun.objects.create(
        provider=provider,
        trigger="schedule",
        status="unchanged",
        epoch=1,
        started_at=timezone.now().replace(microsecond=0) - timedelta(days=30),
        sync_count=1_000,
        repeated_until=until,
    )


def _let_lease_pass(provider: Provider) -> None:
    Provider.objects.filter(pk=provider.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def _sweep_late(provider: Provider) -> None:
    _let_lease_pass(provider)
    assert mark_abandoned_runs() == 1


def _lose(provider: Provider) -> None:
    _let_lease_pass(provider)
    take_lease(provider.pk, "next worker")
