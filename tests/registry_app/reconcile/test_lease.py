"""The lease: one holder at a time, and a fence for whoever lost it."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from registry_app.errors import LeaseLost
from registry_app.models import HeldSnapshot, Provider, RecordSet, SyncRun
from registry_app.queries.provider import find_due
from registry_app.reconcile.lease import Lease, raise_if_lost, release_lease, renew_lease, take_lease
from registry_app.reconcile.rows.mirror_writes import Write, store_in_slices
from registry_app.reconcile.sweep import mark_abandoned_runs
from registry_app.reconcile.sync import sync_under_lease
from registry_app.reconcile.sync_run import open_run
from tests.factories import make_provider
from tests.faults import read_faults
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.reconcile.interrupting import AfterReading
from tests.registry_app.reconcile.syncing import sync


@pytest.mark.django_db
def test_it_is_not_given_twice() -> None:
    provider = make_provider()

    first, second = take_lease(provider.pk, "first"), take_lease(provider.pk, "second")

    assert first is not None
    assert second is None


@pytest.mark.django_db
def test_each_holder_has_a_greater_epoch() -> None:
    provider = make_provider()
    first = take_lease(provider.pk, "first")
    assert first is not None
    release_lease(first)

    second = take_lease(provider.pk, "second")

    assert second is not None
    assert second.epoch == first.epoch + 1


@pytest.mark.django_db
def test_one_whose_time_is_over_is_taken_and_its_holder_is_fenced() -> None:
    provider = make_provider()
    first = take_lease(provider.pk, "first")
    assert first is not None
    _let_pass(provider)

    second = take_lease(provider.pk, "second")

    assert second is not None
    with pytest.raises(LeaseLost):
        raise_if_lost(first)
    with pytest.raises(LeaseLost):
        renew_lease(first)
    raise_if_lost(second)


@pytest.mark.django_db
def test_one_of_a_clock_that_was_wrong_is_taken_and_its_holder_is_fenced() -> None:
    provider = make_provider()
    first = take_lease(provider.pk, "first")
    assert first is not None
    Provider.objects.filter(pk=provider.pk).update(lease_until=timezone.now() + timedelta(days=365))
    run = open_run(first, SyncRun.Trigger.SCHEDULE, "", timezone.now())

    due, ended, second = find_due(timezone.now()), mark_abandoned_runs(), take_lease(provider.pk, "second")

    assert (due, ended) == ([provider.pk], 1)
    assert second is not None
    with pytest.raises(LeaseLost):
        raise_if_lost(first)
    run.refresh_from_db()
    assert run.status == SyncRun.Status.ABANDONED


@pytest.mark.django_db
def test_giving_back_a_lost_lease_takes_nothing_from_the_new_holder() -> None:
    provider = make_provider()
    first = take_lease(provider.pk, "first")
    assert first is not None
    _let_pass(provider)
    second = take_lease(provider.pk, "second")
    assert second is not None

    release_lease(first)

    raise_if_lost(second)


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_exactly_one_gets_it() -> None:
    provider = make_provider()
    got: list[Lease | None] = []
    barrier = threading.Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        got.append(take_lease(provider.pk, f"worker-{number}"))
        connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(got) == 8
    assert sum(lease is not None for lease in got) == 1


@pytest.mark.django_db
def test_a_sync_that_lost_its_lease_stores_nothing() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url)
        lost = take_lease(provider.pk, "slow worker")
        assert lost is not None
        _let_pass(provider)
        assert take_lease(provider.pk, "next worker") is not None
        provider.refresh_from_db()

        run = sync_under_lease(lost, provider, trigger=SyncRun.Trigger.SCHEDULE)

    assert (run.status, run.error_code) == (SyncRun.Status.ABANDONED, "lease_lost")
    assert not RecordSet.objects.exists()
    provider.refresh_from_db()
    assert (provider.lease_holder, provider.status) == ("next worker", Provider.Status.NEW)


@pytest.mark.django_db
def test_a_lease_lost_just_before_the_store_stores_nothing() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url)
        lost = take_lease(provider.pk, "slow worker")
        assert lost is not None

        with connection.execute_wrapper(AfterReading("registry_app_finding", lambda: _lose(provider))):
            run = sync_under_lease(lost, provider, trigger=SyncRun.Trigger.SCHEDULE)

    assert (run.status, run.error_code) == (SyncRun.Status.ABANDONED, "lease_lost")
    assert not RecordSet.objects.exists()
    provider.refresh_from_db()
    assert (provider.lease_holder, provider.accepted_digest) == ("next worker", "")


@pytest.mark.django_db
def test_a_lease_lost_before_nothing_is_noted_as_new_notes_nothing() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url)
        sync(provider)
        lost = take_lease(provider.pk, "slow worker")
        assert lost is not None

        with connection.execute_wrapper(AfterReading("registry_app_finding", lambda: _lose(provider))):
            run = sync_under_lease(lost, provider, trigger=SyncRun.Trigger.SCHEDULE)

    assert (run.status, run.error_code) == (SyncRun.Status.ABANDONED, "lease_lost")
    provider.refresh_from_db()
    assert (provider.lease_holder, provider.accepted_snapshots) == ("next worker", 1)


@pytest.mark.django_db
def test_a_lease_lost_before_a_snapshot_is_held_holds_nothing() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url)
        sync(provider)
        reference.faults.plan("GET /records", read_faults.empty_list())
        lost = take_lease(provider.pk, "slow worker")
        assert lost is not None
        # Renewed for the answer, for its decoding, for the comparison, and after that.
        losing = AfterReading("registry_app_provider", lambda: _lose(provider), verb="UPDATE", times=4)

        with connection.execute_wrapper(losing):
            run = sync_under_lease(lost, provider, trigger=SyncRun.Trigger.SCHEDULE)

    assert (run.status, run.error_code) == (SyncRun.Status.ABANDONED, "lease_lost")
    provider.refresh_from_db()
    assert (provider.lease_holder, provider.status) == ("next worker", Provider.Status.OK)
    assert not HeldSnapshot.objects.exists()


@pytest.mark.django_db
def test_a_lease_lost_between_two_slices_stores_no_more() -> None:
    provider = make_provider()
    lease = take_lease(provider.pk, "slow worker")
    assert lease is not None
    stored: list[str] = []
    writes = [
        Write(1, lambda: stored.append("first")),
        Write(1, lambda: _lose(provider)),
        Write(1, lambda: stored.append("third")),
        Write(1, lambda: stored.append("last")),
    ]

    with pytest.raises(LeaseLost):
        store_in_slices(lease, writes, lambda: stored.append("end"), rows_per_transaction=1)

    assert stored == ["first"]


@pytest.mark.django_db
def test_a_sync_gives_its_lease_back() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url)

        sync(provider)

    assert (provider.lease_holder, provider.lease_until) == ("", None)


def _let_pass(provider: Provider) -> None:
    Provider.objects.filter(pk=provider.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def _lose(provider: Provider) -> None:
    _let_pass(provider)
    take_lease(provider.pk, "next worker")
