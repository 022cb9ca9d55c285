"""A sync that ended, in the metrics and, unless it found nothing new, in the log."""

import structlog

from registry_app import metrics
from registry_app.models import Provider, SyncRun

_STATUS = SyncRun.Status
_TROUBLE = (_STATUS.FAILED, _STATUS.ABANDONED, _STATUS.HELD)
_FOUND = ("seen", "created", "changed", "vanished", "returned", "purged", "set_aside", "claims", "items_read")
_LOG = structlog.get_logger(__name__)


def note_sync(provider: Provider, run: SyncRun, seconds: float) -> None:
    """Count it, and log what it did."""
    # Where not even the failure could be stored, the run is still running.
    status = _STATUS.FAILED if run.status == _STATUS.RUNNING else _STATUS(run.status)
    label = metrics.label_provider(provider.name)
    metrics.SYNCS.labels(label, status.value).inc()
    metrics.SYNC_SECONDS.labels(label).observe(seconds)
    # So that a first one is an increase.
    metrics.READINGS_DIFFERED.labels(label)
    if run.body_bytes is not None:
        metrics.SYNC_BYTES.labels(label).set(run.body_bytes)
    if status == _STATUS.UNCHANGED:
        return
    found = {name: value for name in _FOUND if (value := getattr(run, name))}
    reason = {"error_code": run.error_code, "error": run.error} if run.error_code else {}
    log = _LOG.warning if status in _TROUBLE else _LOG.info
    log(
        f"sync.{status.value}",
        provider=provider.name,
        sync=run.pk,
        trigger=run.trigger,
        seconds=round(seconds, 3),
        **({"requested_by": run.requested_by} if run.requested_by else {}),
        **found,
        **reason,
    )
