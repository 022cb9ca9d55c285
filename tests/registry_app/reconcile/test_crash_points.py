"""A worker killed anywhere in a sync: the next sync puts it right."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.actor import SYSTEM
from registry_app.models import Claim, HeldSnapshot, Provider, RecordEvent, RecordSet, SyncRun
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot
from registry_app.reconcile.rows.bulk import rows_per_transaction
from registry_app.reconcile.sweep import mark_abandoned_runs
from tests.factories import make_provider
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.reconcile.serving import serve
from tests.registry_app.reconcile.syncing import mirrored, sync
from tests.registry_app.transfer.forking import Forks

pytestmark = pytest.mark.django_db(transaction=True)

# (point, record sets in the mirror after the kill)
BEFORE_THE_END = ("sync.fetched", "sync.before_store", "sync.before_commit")


@pytest.mark.parametrize("point", BEFORE_THE_END)
def test_killed_before_the_end_it_stored_nothing_and_the_next_sync_stores_all(
    forks: Forks, point: str
) -> None:
    with ReferenceProvider(make_zone(count=10)) as reference:
        provider = make_provider(url=reference.url)
        _sync_and_die(forks, provider, point)
        rows_after_kill = RecordSet.objects.count()
        _let_lease_pass(provider)

        abandoned = mark_abandoned_runs()
        run = sync(provider)

    assert (rows_after_kill, abandoned) == (0, 1)
    assert (run.status, run.created) == (SyncRun.Status.STORED, 10)
    assert SyncRun.objects.filter(status=SyncRun.Status.ABANDONED).count() == 1
    assert len(mirrored(provider)) == 10


def test_killed_between_two_slices_the_next_sync_stores_the_rest(forks: Forks) -> None:
    count = rows_per_transaction() * 3 // 4
    with ReferenceProvider(make_zone(count=count)) as reference:
        provider = make_provider(url=reference.url)
        _sync_and_die(forks, provider, "sync.between_slices")
        rows_after_kill = RecordSet.objects.count() + Claim.objects.count()
        provider.refresh_from_db()
        digest_after_kill = provider.accepted_digest
        _let_lease_pass(provider)

        run = sync(provider)

    assert 0 < rows_after_kill < 2 * count
    assert digest_after_kill == ""
    assert run.status == SyncRun.Status.STORED
    assert (RecordSet.objects.count(), Claim.objects.count()) == (count, count)
    assert not RecordEvent.objects.exists()


@pytest.mark.deep
def test_killed_between_two_slices_the_old_answer_does_not_pass_for_unchanged(forks: Forks) -> None:
    provider, small = make_provider(), make_zone(count=12)
    serve(provider, small)
    before = mirrored(provider)
    more = make_zone(count=rows_per_transaction() * 3 // 4, domain="more.example.org")
    with ReferenceProvider([*small, *more]) as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        _sync_and_die(forks, provider, "sync.between_slices")
    rows_after_kill = RecordSet.objects.count()
    _let_lease_pass(provider)

    run = serve(provider, small)  # all that was new is gone again: a shrinking that is not believed at once
    accept_held_snapshot(SYSTEM, HeldSnapshot.objects.get().pk, reason="They were never meant.")
    serve(provider, small)

    assert rows_after_kill > len(before)
    assert run.status == SyncRun.Status.HELD
    assert [row for row in mirrored(provider) if not row[-1]] == before


@pytest.mark.deep
def test_killed_between_two_slices_of_a_loss_no_absence_is_counted_twice(forks: Forks) -> None:
    provider = make_provider(allow_empty=True)
    count = rows_per_transaction() * 3 // 4
    with ReferenceProvider(make_zone(count=count)) as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        sync(provider)
    with ReferenceProvider() as empty:
        Provider.objects.filter(pk=provider.pk).update(url=empty.url)
        _sync_and_die(forks, provider, "sync.between_slices")
        _let_lease_pass(provider)

        sync(provider)

    assert set(RecordSet.objects.values_list("missing_snapshots", flat=True)) == {1}
    assert RecordEvent.objects.filter(kind="vanished").count() == count


def test_killed_after_the_end_nothing_is_left_to_do(forks: Forks) -> None:
    with ReferenceProvider(make_zone(count=10)) as reference:
        provider = make_provider(url=reference.url)
        _sync_and_die(forks, provider, "sync.after_store")
        rows_after_kill = RecordSet.objects.count()
        _let_lease_pass(provider)

        run = sync(provider)

    assert rows_after_kill == 10
    assert run.status == SyncRun.Status.UNCHANGED
    assert SyncRun.objects.filter(status=SyncRun.Status.STORED).count() == 1


def _let_lease_pass(provider: Provider) -> None:
    Provider.objects.filter(pk=provider.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def _sync_and_die(forks: Forks, provider: Provider, point: str) -> None:
    """Sync in another process, on this test's database, and be killed at a named point on the way."""
    assert forks.act("sync", provider.pk, crash_at=point).was_killed
