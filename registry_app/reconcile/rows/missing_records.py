"""Record sets that a provider no longer lists: kept as missing, then purged by age (I4)."""

from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet

from registry_app.models import RecordEvent, RecordSet
from registry_app.reconcile.kept_counts import noting_changes
from registry_app.reconcile.lease import Lease, raise_if_lost
from registry_app.reconcile.rows.bulk import insert_rows
from registry_app.reconcile.rows.record_rows import EVENT_COLUMNS, KnownRow, build_event, read_known_rows

_CHUNK = 500


def has_missing(provider_id: int) -> bool:
    """Whether any record set of the provider is missing."""
    return RecordSet.objects.filter(provider_id=provider_id, missing_since__isnull=False).exists()


def has_overdue(provider_id: int, now: datetime) -> bool:
    """Whether `purge_missing` would delete anything."""
    return _overdue(provider_id, now).exists()


def count_absence(provider_id: int) -> None:
    """One more accepted snapshot without them. Inside the transaction that accepts it.

    Counting ends where purging may begin, or each sync would write every missing row again.
    """
    RecordSet.objects.filter(
        provider_id=provider_id,
        missing_since__isnull=False,
        missing_snapshots__lt=settings.DNSADMIN_PURGE_MISSING_SNAPSHOTS,
    ).update(missing_snapshots=F("missing_snapshots") + 1)


def purge_missing(lease: Lease, run_id: int, now: datetime) -> int:
    """Delete what has been missing long enough, some hundreds a transaction. Raises LeaseLost."""
    purged = 0
    while rows := _fetch_overdue(lease.provider_id, now):
        events = [build_event(lease.provider_id, row, RecordEvent.Kind.PURGED, run_id, now) for row in rows]
        with transaction.atomic():
            raise_if_lost(lease)
            insert_rows(RecordEvent, EVENT_COLUMNS, events)
            gone = RecordSet.objects.filter(pk__in=[row.pk for row in rows])
            with noting_changes(gone):
                gone.delete()
        purged += len(rows)
    return purged


def _fetch_overdue(provider_id: int, now: datetime) -> list[KnownRow]:
    return list(read_known_rows(_overdue(provider_id, now).order_by("pk")[:_CHUNK]))


def _overdue(provider_id: int, now: datetime) -> "QuerySet[RecordSet]":
    return RecordSet.objects.filter(
        provider_id=provider_id,
        missing_since__lte=now - settings.DNSADMIN_PURGE_MISSING_AFTER,
        missing_snapshots__gte=settings.DNSADMIN_PURGE_MISSING_SNAPSHOTS,
    )
