"""The row that tells of one sync: opened before anything is asked, closed with what came of it."""

from datetime import datetime

from registry_app.errors import LeaseLost
from registry_app.models import SyncRun
from registry_app.reconcile.lease import Lease

# A sweeper may have called a slow run abandoned; if it still holds the lease, it was only slow.
_UNFINISHED = (SyncRun.Status.RUNNING, SyncRun.Status.ABANDONED)


def open_run(lease: Lease, trigger: str, requested_by: str, now: datetime) -> SyncRun:
    """A running context."""
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
