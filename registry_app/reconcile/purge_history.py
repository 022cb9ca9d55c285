"""Deletes what is older than the retention settings, a thousand rows a transaction, for a limited time."""

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

from django.conf import settings
from django.db import models, transaction

from registry_app.clock import fetch_now
from registry_app.models import (
    Claim,
    Finding,
    Freeze,
    HeldSnapshot,
    IdempotencyKey,
    Provider,
    RecordEvent,
    RecordSet,
    SnapshotIndex,
    SnapshotIndexChunk,
    SyncRun,
)
from registry_app.queries.kept_count import COUNTED
from registry_app.reconcile.kept_counts import noting_changes

# A client that lost an answer asks again within minutes; by then nobody waits for it any more.
_KEYS_KEPT = timedelta(days=2)
_BATCH = 1_000
_MIRROR: tuple[type[models.Model], ...] = (
    Finding,
    HeldSnapshot,
    RecordSet,
    Claim,
    RecordEvent,
    SyncRun,
    SnapshotIndex,
    SnapshotIndexChunk,
    Freeze,
)


@dataclass(frozen=True)
class Purged:
    """How many rows went."""

    events: int
    sync_runs: int
    findings: int
    held_snapshots: int
    idempotency_keys: int


def purge_history() -> Purged:
    """Delete old history, syncs, resolved findings, decided snapshots and idempotency keys.
    What is open always stays. Each kind gets DNSADMIN_PURGE_TIME; the next run goes on where that was too
    short."""
    now = fetch_now()
    runs_before = now - settings.DNSADMIN_RETENTION_RUNS
    # The last stored sync of each provider stays: the mirror was made from it.
    stored = SyncRun.objects.filter(status=SyncRun.Status.STORED).values("provider_id").order_by()
    # A list: as a subquery it would be computed again for each thousand rows that go.
    last_stored = list(stored.annotate(last=models.Max("pk")).values_list("last", flat=True))
    old_runs = (
        SyncRun.objects.filter(started_at__lt=runs_before)
        .exclude(repeated_until__gte=runs_before)
        .exclude(status=SyncRun.Status.RUNNING)
        .exclude(pk__in=last_stored)
    )
    decided = HeldSnapshot.objects.filter(last_seen_at__lt=runs_before).exclude(
        status__in=[HeldSnapshot.Status.OPEN, HeldSnapshot.Status.ACCEPTED]
    )
    resolved = Finding.objects.filter(
        state=Finding.State.RESOLVED, resolved_at__lt=now - settings.DNSADMIN_RETENTION_FINDINGS
    )
    return Purged(
        events=_delete_events(now - settings.DNSADMIN_RETENTION_EVENTS),
        sync_runs=_delete(old_runs, by="started_at", until=_limit()),
        findings=_delete(resolved, until=_limit()),
        held_snapshots=_delete(decided, until=_limit()),
        idempotency_keys=_delete(
            IdempotencyKey.objects.filter(created_at__lt=now - _KEYS_KEPT), until=_limit()
        ),
    )


def _delete_events(before: datetime) -> int:
    deleted, until = 0, _limit()
    for pk in Provider.with_deleted.order_by("pk").values_list("pk", flat=True):
        gone = _delete(RecordEvent.objects.filter(provider=pk, at__lt=before), by="at", until=until)
        deleted += gone
        if gone and monotonic() >= until:
            break
    return deleted


def _limit() -> float:
    return monotonic() + settings.DNSADMIN_PURGE_TIME.total_seconds()


def purge_deleted_providers() -> int:
    """Delete the mirror of providers that were deleted: record sets, claims, their history, findings,
    syncs, held snapshots and freezes. Returns how many rows went."""
    deleted = 0
    for pk in Provider.with_deleted.filter(deleted_at__isnull=False).values_list("pk", flat=True):
        for model in _MIRROR:
            by = "at" if model is RecordEvent else "pk"
            deleted += _delete(model._default_manager.filter(provider=pk), by=by)
    return deleted


def _delete(old: models.QuerySet[models.Model], *, by: str = "pk", until: float | None = None) -> int:
    """In batches, each its own transaction: nobody waits long for the write lock.

    `by` is the column of the index that finds the old rows. In the order of the primary key, PostgreSQL walks
    through the whole table to find that no old row is left, as long as it believes that there are some.
    """
    deleted = 0
    while pks := list(old.order_by(by).values_list("pk", flat=True)[:_BATCH]):
        gone = old.model._default_manager.filter(pk__in=pks)
        with transaction.atomic(), noting_changes(gone) if old.model in COUNTED else nullcontext():
            gone.delete()
        deleted += len(pks)
        if until is not None and monotonic() >= until:
            break
    return deleted
