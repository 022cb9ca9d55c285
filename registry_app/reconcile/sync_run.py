"""The row of one sync, from its beginning to its result; when the next sync is due.

A sync that somebody requested has a row before anything is asked. One of the schedule is noted at its
provider (`sync_epoch`, `sync_started_at`) until there is something to store, and is counted in the row of the
one before it where both found nothing new.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from random import SystemRandom
from types import MappingProxyType

from django.db import transaction
from django.db.models import Case, F, Q, Subquery, Value, When

from providers.http.pause import compute_pause
from registry_app.errors import LeaseLost
from registry_app.models import Provider, SyncRun
from registry_app.queries.provider import due_providers, is_sync_due
from registry_app.reconcile.lease import Lease, held_by, store_under_lease

LONGEST_BACKOFF = timedelta(hours=1)
_SPREAD_OF_SUCCESS = (0.9, 1.1)
_SPREAD_OF_FAILURE = (0.8, 1.2)
_random = SystemRandom()
# At a provider: no scheduled sync runs there without a row of its own.
NO_SYNC: Mapping[str, None] = MappingProxyType({"sync_epoch": None, "sync_started_at": None})
ABANDONED_CODE = "abandoned"
ABANDONED_TEXT = (
    "The worker of this sync stopped before its end. The mirror has what was stored until then. "
    "The next sync compares everything again."
)
# A sweeper may have called a slow run abandoned; if it still holds the lease, it was only slow.
_UNFINISHED = (SyncRun.Status.RUNNING, SyncRun.Status.ABANDONED)


def begin_run(lease: Lease, provider: Provider, trigger: str, requested_by: str, now: datetime) -> SyncRun:
    """A running sync with a row of its own. What somebody requested of the provider is done with it."""
    _end_earlier(provider, now)
    if not provider.sync_requested_by:
        return open_run(lease, trigger, requested_by, now)
    waiting = Provider.objects.filter(pk=provider.pk, sync_requested_by=provider.sync_requested_by)
    with transaction.atomic():
        waiting.update(sync_requested_by="")
        return open_run(lease, trigger, requested_by, now)


def begin_scheduled_run(lease: Lease, provider: Provider) -> SyncRun | None:
    """A running sync of the schedule, with a row of its own if somebody requested it. None if the provider is
    not due."""
    now = lease.taken_at
    if provider.sync_requested_by and is_sync_due(provider.pk, now):
        return begin_run(lease, provider, SyncRun.Trigger.PERSON, provider.sync_requested_by, now)
    _end_earlier(provider, now)
    is_due_still = held_by(lease) & due_providers(now)
    if not is_due_still.update(sync_epoch=lease.epoch, sync_started_at=now):
        return None
    return _build_run(lease, SyncRun.Trigger.SCHEDULE, "", now)


def open_run(lease: Lease, trigger: str, requested_by: str, now: datetime) -> SyncRun:
    """The row of a running sync."""
    run = _build_run(lease, trigger, requested_by, now)
    run.save(force_insert=True)
    return run


def _build_run(lease: Lease, trigger: str, requested_by: str, now: datetime) -> SyncRun:
    return SyncRun(
        provider_id=lease.provider_id,
        trigger=trigger,
        requested_by=requested_by[:200],
        epoch=lease.epoch,
        started_at=now,
    )


def store_run(lease: Lease, run: SyncRun) -> None:
    """Give a sync that has something to store a row of its own, unless it has one. Raises LeaseLost."""
    if not run.has_row:
        with transaction.atomic():
            store_under_lease(lease, **NO_SYNC)
            _insert(run)


def _insert(run: SyncRun) -> None:
    # A sweeper may have called it abandoned, and given it its row.
    last = SyncRun.objects.filter(provider_id=run.provider_id).first()
    if last is not None and (last.status, last.epoch) == (SyncRun.Status.ABANDONED, run.epoch):
        run.pk = last.pk
    else:
        run.save(force_insert=True)


def close_run(run: SyncRun, status: SyncRun.Status, now: datetime, **values: int | str | None) -> None:
    """End a sync, in the row and in `run`. Raises LeaseLost if the run was ended by somebody else.

    Inside a transaction that is fenced and, for a run without a row, stores NO_SYNC at its provider.
    """
    changes = {"status": status, "finished_at": now, "error_code": "", "error": "", **values}
    # What was fetched is noted in `run` on the way, and why all of it was read; written here, with the rest.
    for noted in ("fetch_milliseconds", "body_bytes", "body_digest", "whole_reading"):
        changes[noted] = getattr(run, noted)
    if not run.has_row and not _is_counted(run, changes):
        _insert(run)
    if run.has_row and not SyncRun.objects.filter(pk=run.pk, status__in=_UNFINISHED).update(**changes):
        raise LeaseLost(f"Sync {run.pk} was ended by another run.", now="Nothing was stored by it.")
    for field, value in changes.items():
        setattr(run, field, value)


def _is_counted(run: SyncRun, changes: Mapping[str, int | str | datetime | None]) -> bool:
    """Count an unchanged sync of the schedule in the row of the one before it, if that was one, too."""
    if changes["status"] != SyncRun.Status.UNCHANGED:
        return False
    last = SyncRun.objects.filter(provider_id=run.provider_id).values("pk")[:1]
    alike = SyncRun.objects.filter(
        pk=Subquery(last), status=SyncRun.Status.UNCHANGED, trigger=SyncRun.Trigger.SCHEDULE, purged=0
    )
    if isinstance(set_aside := changes.get("set_aside"), int):
        alike = alike.filter(set_aside=set_aside)
    # No column that an index has: PostgreSQL then writes the row and nothing else.
    of_the_first = ("status", "finished_at")
    of_the_last = {name: value for name, value in changes.items() if name not in of_the_first}
    counted = alike.update(
        sync_count=F("sync_count") + 1, repeated_until=changes["finished_at"], epoch=run.epoch, **of_the_last
    )
    return bool(counted)


def store_abandoned(run: SyncRun, now: datetime, code: str, text: str) -> bool:
    """Give a sync that ended without a result its row, once: whether this was it."""
    ended = {"status": SyncRun.Status.ABANDONED, "finished_at": now, "error_code": code, "error": text}
    for field, value in ended.items():
        setattr(run, field, value)
    with transaction.atomic():
        noted = Provider.with_deleted.filter(pk=run.provider_id, sync_epoch=run.epoch)
        if not noted.update(**NO_SYNC):
            return False
        run.save(force_insert=True)
    return True


def end_abandoned(provider: Provider, now: datetime) -> bool:
    """The scheduled sync that is noted at the provider ended without a result: its row. False if it was noted
    before."""
    if provider.sync_epoch is None or provider.sync_started_at is None:
        return False
    run = SyncRun(
        provider_id=provider.pk,
        trigger=SyncRun.Trigger.SCHEDULE,
        epoch=provider.sync_epoch,
        started_at=provider.sync_started_at,
    )
    return store_abandoned(run, now, ABANDONED_CODE, ABANDONED_TEXT)


def _end_earlier(provider: Provider, now: datetime) -> None:
    # Whoever has the lease now follows on a worker that died.
    if provider.sync_epoch is not None:
        end_abandoned(provider, now)


def build_next_sync(provider: Provider, now: datetime) -> Case:
    """The value of `Provider.next_sync_at` after a sync that had an answer. `provider` is as it was before.

    What somebody set in between stays: the answer may be older than their request, or than the snapshot they
    accepted.
    """
    before = provider.next_sync_at
    is_untouched = Q(next_sync_at__isnull=True) if before is None else Q(next_sync_at=before)
    planned = compute_next_sync(now, provider.interval_seconds)
    return Case(When(is_untouched & Q(sync_requested_by=""), then=Value(planned)), default=F("next_sync_at"))


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
