"""The tasks, which may be delivered twice, late, or never."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from celery.signals import task_prerun
from django.utils import timezone

from dnsadmin.celery import BEAT_SCHEDULE
from registry_app import tasks
from registry_app.clock import fetch_now
from registry_app.models import Provider, RecordSet, SyncRun, Transfer
from registry_app.queries.provider import find_due
from registry_app.reconcile.search_index import is_behind
from tests.factories import make_owner, make_provider
from tests.faults import read_faults
from tests.reference_server import ReferenceProvider, make_zone


def test_every_entry_of_the_schedule_is_a_task() -> None:
    known = set(current_app.tasks)

    assert {entry["task"] for entry in BEAT_SCHEDULE.values()} <= known


@pytest.mark.django_db
def test_a_sync_that_rings_twice_is_the_same_as_once() -> None:
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url)

        tasks.run_sync(provider.pk)
        tasks.run_sync(provider.pk)

        assert len(reference.history.requests("GET /records")) == 1
    assert RecordSet.objects.count() == 5
    assert list(SyncRun.objects.values_list("status", flat=True)) == ["stored"]


@pytest.mark.django_db
def test_a_provider_that_asked_for_time_gets_it_whatever_still_rings() -> None:
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url)
        reference.faults.plan("GET /records", read_faults.too_many_requests("3600"))

        tasks.run_sync(provider.pk)
        tasks.run_sync(provider.pk)

        assert len(reference.history.requests("GET /records")) == 1
    assert list(SyncRun.objects.values_list("error_code", flat=True)) == ["too_many_requests"]


@pytest.mark.django_db
def test_a_sync_of_a_provider_that_was_removed_is_nothing() -> None:
    tasks.run_sync(4711)

    assert not SyncRun.objects.exists()


@pytest.mark.django_db
def test_a_sync_that_rings_after_its_provider_was_switched_off_asks_nothing() -> None:
    with ReferenceProvider(make_zone(count=5)) as reference:
        provider = make_provider(url=reference.url, is_enabled=False)

        tasks.run_sync(provider.pk)

        assert reference.history.requests() == ()
    assert not SyncRun.objects.exists()


@pytest.fixture
def _at_once() -> Iterator[None]:
    """Celery works off what rings at once, in this process."""
    current_app.conf.task_always_eager = True
    yield
    current_app.conf.task_always_eager = False


@pytest.mark.django_db
@pytest.mark.usefixtures("_at_once")
def test_a_tick_has_every_provider_synced_that_is_due() -> None:
    with ReferenceProvider(make_zone(count=5)) as reference:
        due = [make_provider(name, url=reference.url) for name in ("blue-zone", "green-zone")]
        make_provider("off", url=reference.url, is_enabled=False)

        tasks.tick()
        tasks.tick()

    assert list(SyncRun.objects.order_by("pk").values_list("provider_id", flat=True)) == [p.pk for p in due]
    assert RecordSet.objects.count() == 10
    assert not is_behind()  # what was stored is in the index of searches


@pytest.mark.django_db
@pytest.mark.usefixtures("_at_once")
def test_a_transfer_does_not_wait_behind_the_syncs_that_are_due() -> None:
    with ReferenceProvider(make_zone(count=1)) as reference:
        syncing = make_provider("green-zone", url=reference.url)
        Transfer.objects.create(
            provider=make_provider(url=reference.url, next_sync_at=timezone.now() + timedelta(hours=1)),
            kind=Transfer.Kind.TRANSFER,
            status=Transfer.Status.APPROVED,
            source_owner=make_owner(),
            target_owner=make_owner("green-cluster"),
            reason="The team moves.",
            expires_at=timezone.now() + timedelta(hours=1),
        )

        started = _list_started(tasks.tick)

    assert started[:2] == ["run_transfer", "run_sync"]
    assert SyncRun.objects.filter(provider=syncing).exists()


@pytest.mark.django_db
def test_a_tick_has_room_for_ten_thousand_providers_that_are_synced_each_minute() -> None:
    ten_thousand_each_minute = 10_000 / 60 * BEAT_SCHEDULE["tick"]["schedule"]
    many = range(1_000)
    Provider.objects.bulk_create(Provider(name=f"zone-{number}", url="http://127.0.0.1:1") for number in many)

    due = find_due(fetch_now())

    assert len(due) > 1.5 * ten_thousand_each_minute


def _list_started(tick: Any) -> list[str]:
    """The names of the tasks that one tick starts, in order."""
    started: list[str] = []

    def note(sender: Any, **_: Any) -> None:
        started.append(sender.name.rpartition(".")[2])

    task_prerun.connect(note, weak=False)
    try:
        tick()
    finally:
        task_prerun.disconnect(note)
    return [name for name in started if name != "tick"]
