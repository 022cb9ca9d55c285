"""Which providers are due, and which nobody syncs."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.models import Finding, SyncRun
from registry_app.queries.provider import find_due
from registry_app.reconcile.lease import release_lease, take_lease
from registry_app.reconcile.sweep import mark_abandoned_runs, note_silent_providers
from registry_app.reconcile.sync_run import open_run
from tests.factories import make_provider
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db


def test_a_new_provider_and_one_whose_time_came_are_due() -> None:
    now = timezone.now()
    new = make_provider("new")
    late = make_provider("late", next_sync_at=now - timedelta(seconds=1))
    make_provider("early", next_sync_at=now + timedelta(seconds=60))
    make_provider("off", is_enabled=False)

    due = find_due(now)

    assert set(due) == {new.pk, late.pk}


def test_one_that_is_being_synced_is_not_due() -> None:
    provider = make_provider()
    take_lease(provider.pk, "a worker")

    assert find_due(timezone.now()) == []


def test_after_a_sync_it_is_due_an_interval_later() -> None:
    with ReferenceProvider(make_zone(count=1)) as reference:
        provider = make_provider(url=reference.url, interval_seconds=600)

        sync(provider)

    assert find_due(timezone.now()) == []
    assert find_due(timezone.now() + timedelta(seconds=700)) == [provider.pk]


@pytest.mark.parametrize("field", ["last_sync_at", "next_sync_at"])
def test_a_clock_that_was_wrong_puts_no_sync_off(field: str) -> None:
    now = timezone.now()
    next_year = now + timedelta(days=365)
    provider = make_provider(next_sync_at=next_year)
    type(provider).objects.update(**{field: next_year})

    assert find_due(now) == [provider.pk]


def test_a_day_is_no_clock_that_was_wrong() -> None:
    now = timezone.now()
    make_provider(last_sync_at=now + timedelta(seconds=60), next_sync_at=now + timedelta(hours=25))

    assert find_due(now) == []


def test_a_running_sync_whose_lease_another_has_is_abandoned() -> None:
    provider = make_provider()
    lost = take_lease(provider.pk, "a worker that died")
    assert lost is not None
    run = open_run(lost, SyncRun.Trigger.SCHEDULE, "", timezone.now())
    release_lease(lost)
    take_lease(provider.pk, "the next worker")

    assert mark_abandoned_runs() == 1

    run.refresh_from_db()
    assert run.status == SyncRun.Status.ABANDONED


def test_a_running_sync_with_a_live_lease_is_not_abandoned() -> None:
    provider = make_provider()
    lease = take_lease(provider.pk, "a worker")
    assert lease is not None
    open_run(lease, SyncRun.Trigger.SCHEDULE, "", timezone.now())

    assert mark_abandoned_runs() == 0


def test_a_provider_nobody_syncs_gets_one_finding() -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    make_provider(interval_seconds=60, next_sync_at=long_ago, last_sync_at=long_ago)
    make_provider("synced", last_sync_at=timezone.now(), next_sync_at=timezone.now())

    opened = [note_silent_providers(), note_silent_providers()]

    assert opened == [1, 0]
    assert Finding.objects.get().kind == Finding.Kind.PROVIDER_FAILING


def test_one_that_a_long_transfer_is_busy_at_is_not_silent() -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    provider = make_provider(next_sync_at=long_ago, last_sync_at=long_ago)
    take_lease(provider.pk, "transfer 7")

    assert note_silent_providers() == 0


def test_one_that_failed_last_is_told_of_too_when_nobody_tries_again() -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    provider = make_provider(next_sync_at=long_ago, last_sync_at=long_ago, status="failing")

    assert note_silent_providers() == 1

    assert Finding.objects.get().details == {"error_code": "silent"}
    assert provider.findings.get().state == Finding.State.OPEN


def test_the_finding_of_a_silent_provider_goes_with_its_next_sync() -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    with ReferenceProvider(make_zone(count=1)) as reference:
        provider = make_provider(url=reference.url, next_sync_at=long_ago, last_sync_at=long_ago)
        sync(provider)
        type(provider).objects.update(next_sync_at=long_ago, last_sync_at=long_ago)
        note_silent_providers()

        sync(provider)

    assert Finding.objects.get(kind=Finding.Kind.PROVIDER_FAILING).state == Finding.State.RESOLVED
