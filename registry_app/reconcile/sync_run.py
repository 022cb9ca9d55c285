"""The row of one sync: opened before anything is asked, closed with its result; when the next sync is due."""

from datetime import datetime, timedelta
from random import SystemRandom

from django.db.models import Case, F, Q, Value, When

from providers.http.pause import compute_pause
from registry_app.errors import LeaseLost
from registry_app.models import Provider, SyncRun
from registry_app.reconcile.lease import Lease

LONGEST_BACKOFF = timedelta(hours=1)
_SPREAD_OF_SUCCESS = (0.9, 1.1)
_SPREAD_OF_FAILURE = (0.8, 1.2)
_random = SystemRandom()
# A sweeper may have called a slow run abandoned; if it still holds the lease, it was only slow.
_UNFINISHED = (SyncRun.Status.RUNNING, SyncRun.Status.ABANDONED)


def open_run(lease: Lease, trigger: str, requested_by: str, now: datetime) -> SyncRun:
    """A running sync."""
    return SyncRun.objects.create(
        provider_id=lease.provider_id,
        trigger=trigger,
        requested_by=requested_by[:200],
        epoch=lease.epoch,
        started_at=now,
    )


def close_run(run: SyncRun, status: SyncRun.Status, now: datetime, **values: int | str | None) -> None:
    """End a sync, in the row and in `run`. Raises LeaseLost if the run was ended by somebody else."""
    changes = {"status": status, "finished_at": now, **values}
    # What was fetched is noted in `run` on the way and written here, with the rest.
    for fetched in ("fetch_milliseconds", "body_bytes", "body_digest"):
        changes[fetched] = getattr(run, fetched)
    if not SyncRun.objects.filter(pk=run.pk, status__in=_UNFINISHED).update(**changes):
        raise LeaseLost(f"Sync {run.pk} was ended by another run.", now="Nothing was stored by it.")
    for field, value in changes.items():
        setattr(run, field, value)


def build_next_sync(provider: Provider, now: datetime) -> Case:
    """The value of `Provider.next_sync_at` after a sync that had an answer. `provider` is as it was before.

    What somebody set in between stays: the answer may be older than their request, or than the snapshot they
    accepted.
    """
    before = provider.next_sync_at
    is_untouched = Q(next_sync_at__isnull=True) if before is None else Q(next_sync_at=before)
    planned = compute_next_sync(now, provider.interval_seconds)
    return Case(When(is_untouched, then=Value(planned)), default=F("next_sync_at"))


def compute_next_sync(now: datetime, interval_seconds: int) -> datetime:
    """After a sync that had an answer: one interval on, spread so that providers do not march in step."""
    return now + timedelta(seconds=interval_seconds) * _random.uniform(*_SPREAD_OF_SUCCESS)


def compute_next_try(
    now: datetime, interval_seconds: int, failures: int, retry_after: float | None = None
) -> datetime:
    """After the `failures`-th failure in a row: the interval doubled each time, an hour at most (or the
    interval, if that is longer), and never before the provider asked us to come back."""
    longest = max(LONGEST_BACKOFF.total_seconds(), interval_seconds)
    pause = compute_pause(failures + 1, first=interval_seconds, longest=longest, spread=_SPREAD_OF_FAILURE)
    return now + timedelta(seconds=max(pause, retry_after or 0))
