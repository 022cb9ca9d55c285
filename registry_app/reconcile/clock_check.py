"""A worker whose clock is off: it says so, and takes no lease."""

import socket
from datetime import timedelta

import structlog
from django.db import transaction

from registry_app.clock import TOLERANCE, fetch_now, measure_offset
from registry_app.models import Finding
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity
from registry_app.reconcile.store_findings import open_finding, resolve_finding

_logger = structlog.get_logger(__name__)


def note_clock() -> bool:
    """Compare this machine's clock with the database's, open or resolve the finding of this machine. Whether
    the clock is right, so that work may begin here."""
    offset = measure_offset()
    draft = _draft(offset)
    is_right = abs(offset) <= TOLERANCE
    is_told = (
        Finding.objects.filter(fingerprint=draft.fingerprint(0))
        .exclude(state=Finding.State.RESOLVED)
        .exists()
    )
    if is_right and is_told:
        with transaction.atomic():
            resolve_finding(draft.fingerprint(0), fetch_now())
    if not is_right:
        _logger.error("clock.off", seconds=round(offset.total_seconds(), 1), host=socket.gethostname())
        with transaction.atomic():
            open_finding(None, draft, fetch_now())
    return is_right


def _draft(offset: timedelta) -> FindingDraft:
    host = socket.gethostname()[:100]
    seconds = abs(offset.total_seconds())
    direction = "ahead of" if offset > timedelta(0) else "behind"
    return FindingDraft(
        kind=Kind.CLOCK_OFF,
        severity=Severity.ERROR,
        subject=host,
        explanation=(
            f"The clock of {host} is {seconds:.0f} s {direction} the database's. Its workers take no "
            "lease and do nothing until the clock is right. Other machines continue. Set the clock "
            "there, for example with chrony or systemd-timesyncd."
        ),
        details={"host": host, "seconds": round(offset.total_seconds())},
    )
