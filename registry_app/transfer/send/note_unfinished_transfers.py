"""Say which transfers were begun long ago and are not finished (I7)."""

from datetime import timedelta

from django.db import transaction

from registry_app.clock import fetch_now
from registry_app.models import Finding, Transfer
from registry_app.reconcile.findings.draft import FindingDraft
from registry_app.reconcile.store_findings import open_finding
from registry_app.transfer.send.conclude import compute_stuck_fingerprint
from registry_app.transfer.transfer_row import name_transfer

UNFINISHED_AFTER = timedelta(minutes=15)


def note_unfinished_transfers() -> int:
    """Open a finding for each that has none; how many were opened. The end of the transfer resolves it."""
    now = fetch_now()
    unfinished = Transfer.objects.filter(
        status__in=(Transfer.Status.SENDING, Transfer.Status.SENT),
        started_at__lt=now - UNFINISHED_AFTER,
        # One that was taken up again began long ago, and has its time all the same.
        updated_at__lt=now - UNFINISHED_AFTER,
    )
    fingerprints = {compute_stuck_fingerprint(transfer): transfer for transfer in unfinished.order_by("pk")}
    known = Finding.objects.filter(fingerprint__in=list(fingerprints)).exclude(state=Finding.State.RESOLVED)
    told = {bytes(fingerprint) for fingerprint in known.values_list("fingerprint", flat=True)}
    untold = [transfer for fingerprint, transfer in fingerprints.items() if fingerprint not in told]
    for transfer in untold:
        with transaction.atomic():
            open_finding(transfer.provider_id, _describe(transfer), now)
    return len(untold)


def _describe(transfer: Transfer) -> FindingDraft:
    return FindingDraft(
        kind=Finding.Kind.TRANSFER_STUCK,
        severity=Finding.Severity.WARNING,
        subject=str(transfer.public_id),
        explanation=(
            f"{name_transfer(transfer).capitalize()} began at {transfer.started_at:%Y-%m-%d %H:%M} UTC and "
            f"is not finished. {transfer.status_reason or 'A worker goes on with it when it comes to it.'}"
        ),
        suggestion={"kind": "look_at_transfer", "transfer_id": transfer.pk},
    )
