"""What is older than the retention settings say goes; what is open stays."""

from datetime import timedelta

import pytest
from django.test import override_settings
from django.utils import timezone

from registry_app.models import Finding, HeldSnapshot, IdempotencyKey, Provider, RecordEvent, SyncRun
from registry_app.reconcile.purge_history import purge_history
from tests.factories import make_finding, make_provider, make_user

pytestmark = pytest.mark.django_db
LONG_AGO = timezone.now() - timedelta(days=1000)


def _run(provider: Provider, status: SyncRun.Status) -> SyncRun:
    return SyncRun.objects.create(
        provider=provider, trigger="schedule", status=status, epoch=1, started_at=LONG_AGO
    )


def test_old_syncs_go_but_for_the_last_stored_one_and_running_ones() -> None:
    provider = make_provider()
    for status in (SyncRun.Status.STORED, SyncRun.Status.FAILED, SyncRun.Status.UNCHANGED):
        _run(provider, status)
    kept = {_run(provider, SyncRun.Status.STORED).pk, _run(provider, SyncRun.Status.RUNNING).pk}

    purged = purge_history()

    assert purged.sync_runs == 3
    assert set(SyncRun.objects.values_list("pk", flat=True)) == kept


def test_old_history_goes_in_batches_and_new_history_stays() -> None:
    provider = make_provider()
    event = {"provider": provider, "name": "www.example.org", "record_type": "A", "kind": "changed"}
    RecordEvent.objects.bulk_create([RecordEvent(at=LONG_AGO, **event) for _ in range(2_500)])
    fresh = RecordEvent.objects.create(at=timezone.now(), **event)

    purged = purge_history()

    assert purged.events == 2_500
    assert RecordEvent.objects.get() == fresh


def test_a_purge_that_has_used_its_time_goes_on_with_the_next_one() -> None:
    for name in ("blue", "green"):
        event = {"provider": make_provider(name), "name": "www.example.org", "record_type": "A"}
        RecordEvent.objects.bulk_create(
            [RecordEvent(at=LONG_AGO, kind="changed", **event) for _ in range(1_200)]
        )
    make_finding(state=Finding.State.RESOLVED, resolved_at=LONG_AGO)

    with override_settings(DNSADMIN_PURGE_TIME=timedelta(0)):
        first = purge_history()
        rest = [purge_history().events for _ in range(4)]

    assert (first.events, first.findings) == (1_000, 1)
    assert sum(rest) == 1_400
    assert not RecordEvent.objects.exists()


def test_the_history_of_a_provider_that_was_deleted_goes_too() -> None:
    provider = make_provider(deleted_at=timezone.now())
    RecordEvent.objects.create(
        provider=provider, name="www.example.org", record_type="A", kind="changed", at=LONG_AGO
    )

    assert purge_history().events == 1


def test_only_resolved_findings_go() -> None:
    make_finding(state=Finding.State.RESOLVED, resolved_at=LONG_AGO)
    open_one = make_finding(last_seen_at=LONG_AGO)

    purged = purge_history()

    assert purged.findings == 1
    assert Finding.objects.get() == open_one


@pytest.mark.parametrize("status", [HeldSnapshot.Status.OPEN, HeldSnapshot.Status.ACCEPTED])
def test_a_snapshot_that_waits_for_a_person_or_for_its_sync_stays(status: HeldSnapshot.Status) -> None:
    held = {"body": b"", "body_digest": "", "created_at": LONG_AGO, "last_seen_at": LONG_AGO}
    waiting = HeldSnapshot.objects.create(provider=make_provider(), status=status, **held)
    HeldSnapshot.objects.create(provider=waiting.provider, status=HeldSnapshot.Status.REJECTED, **held)

    purged = purge_history()

    assert purged.held_snapshots == 1
    assert HeldSnapshot.objects.get() == waiting


def test_idempotency_keys_go_after_two_days_in_batches() -> None:
    alice, now = make_user("alice"), timezone.now()
    for age, count in ((timedelta(days=2, minutes=1), 1_200), (timedelta(days=1, hours=23), 3)):
        keys = [
            IdempotencyKey(user=alice, key=f"{age}-{number}", body_digest="", claimed_at=now)
            for number in range(count)
        ]
        IdempotencyKey.objects.bulk_create(keys)
        IdempotencyKey.objects.filter(key__startswith=str(age)).update(created_at=now - age)

    purged = purge_history()

    assert purged.idempotency_keys == 1_200
    assert IdempotencyKey.objects.count() == 3
