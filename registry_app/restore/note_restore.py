"""Note that the database was restored: end what was open, and stop all sending.

Nothing of an open transfer or loop run is sent afterwards. Hand-overs that ran are paused.
"""

from datetime import datetime

import structlog
from django.db import transaction
from django.db.models import F

from registry_app.actor import SYSTEM, Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.hand_over.hand_over_row import advance_row
from registry_app.models import (
    NEVER_SENT,
    UNSETTLED,
    Generation,
    HandOver,
    Loop,
    LoopRun,
    LoopStep,
    Provider,
    Transfer,
    TransferItem,
    TransferStep,
)
from registry_app.outside_copy import (
    Knowledge,
    fetch_generation,
    fetch_knowledge,
    find_copy_ahead,
    store_copy,
)
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity
from registry_app.reconcile.store_findings import open_finding
from registry_app.transfer.send.conclude import resolve_stuck_finding
from registry_app.transfer.transfer_row import advance

_logger = structlog.get_logger(__name__)
_STATUS = Transfer.Status
_ITEM = TransferItem.Status
_STEP = TransferStep.Status
_RESTORED = "Void: the database was restored from an earlier state."
_UNKNOWN = "dnsadmin does not know what was sent between the backup and the restore. The provider shows it."


def note_restore_if_any() -> bool:
    """Compare the database with its copies outside, and bring these up to date. Whether it was restored.

    Called when a role starts, and every few seconds. Any number of calls at once have the effect of one.
    """
    ahead = find_copy_ahead()
    if ahead is None:
        store_copy(fetch_knowledge())
        return False
    note_restore(SYSTEM, ahead, how="A copy outside the database is ahead of the database.")
    return True


def note_restore(actor: Actor, ahead: Knowledge | None, *, how: str) -> Generation | None:
    """Raise the generation, end every open transfer and run, and stop all sending. None: another worker
    did.

    `ahead` is what is known of the database as it was before the restore, if anything is. Nothing is sent to
    a provider until its next snapshot was accepted (registry_app.restore.accept_restored).
    """
    row = fetch_generation()
    number = max(row.number, ahead.generation if ahead else 0) + 1
    sends = max(row.sends, ahead.sends if ahead else 0)
    with transaction.atomic():
        now = fetch_now()
        same = Generation.objects.filter(id=1, number=row.number)
        if not same.update(number=number, sends=sends, restored_at=now):
            return None
        known = fetch_knowledge()
        record_audit(
            actor,
            "database.restored",
            row,
            reason=how,
            before={"generation": row.number},
            after={"generation": number, "audit_cut": _describe_cut(known, ahead)},
        )
        _stop_sending(now)
        _end_transfers(actor)
        _end_loop_runs(actor, now)
        _stop_hand_overs(actor)
    store_copy(fetch_knowledge())
    row.refresh_from_db()
    _logger.warning("database.restored", generation=number, how=how)
    return row


def _describe_cut(known: Knowledge, ahead: Knowledge | None) -> dict[str, object] | None:
    """The audit entries that were written once and are not in this database; None where none is known."""
    if ahead is None or ahead.sequence <= known.sequence:
        return None
    return {"from": known.sequence + 1, "to": ahead.sequence, "last_hash": ahead.hash}


def _stop_sending(now: datetime) -> None:
    # A greater epoch: whoever worked with a provider through the restore finds its lease gone.
    Provider.objects.update(
        restored_at=now,
        lease_epoch=F("lease_epoch") + 1,
        lease_holder="",
        lease_until=None,
        next_sync_at=now,
    )
    # A confirmation was for another state.
    Loop.objects.exclude(requested_by="", confirmation="").update(requested_by="", confirmation="")
    for pk, name in Provider.objects.values_list("pk", "name"):
        open_finding(pk, _draft_restored(pk, name), now)


def _draft_restored(provider_id: int, name: str) -> FindingDraft:
    return FindingDraft(
        kind=Kind.DATABASE_RESTORED,
        severity=Severity.CRITICAL,
        subject="",
        explanation=(
            f"The database was restored from an earlier state. Nothing is sent to {name} until "
            "somebody who may operate it accepts a snapshot that was read after the restore. Open "
            "transfers and loop runs are void. Check what changed there, then accept the snapshot on "
            "the provider's page."
        ),
        suggestion={"kind": "accept_restored", "provider_id": provider_id},
    )


def _end_transfers(actor: Actor) -> int:
    """End every open transfer; how many. Inside the transaction that notes the restore."""
    transfers = list(Transfer.objects.filter(status__in=Transfer.OPEN_STATUSES).order_by("pk"))
    for transfer in transfers:
        _end_transfer(actor, transfer)
    return len(transfers)


def _end_transfer(actor: Actor, transfer: Transfer) -> None:
    transfer.steps.filter(status=_STEP.STORED).update(status=_STEP.NOT_SENT, answer=_RESTORED)
    was_sent = transfer.steps.exclude(status__in=NEVER_SENT).exists()
    transfer.steps.filter(status__in=UNSETTLED).update(status=_STEP.NEEDS_OPERATOR, read_back_at=None)
    transfer.items.filter(status=_ITEM.PENDING).update(status=_ITEM.STALE, status_reason=_RESTORED)
    left = _ITEM.NEEDS_OPERATOR if was_sent else _ITEM.STALE
    transfer.items.filter(status=_ITEM.SENDING).update(status=left, status_reason=f"{_RESTORED} {_UNKNOWN}")
    reason = (
        f"{_RESTORED} dnsadmin sends nothing more for it. {_UNKNOWN} Request it again, to plan from that."
    )
    advance(
        transfer,
        before=Transfer.OPEN_STATUSES,
        after=_STATUS.FAILED if was_sent else _STATUS.STALE,
        actor=actor,
        reason=_RESTORED,
        status_reason=reason,
        next_attempt_at=None,
    )
    resolve_stuck_finding(transfer)


def _end_loop_runs(actor: Actor, now: datetime) -> int:
    """End every run that is under way; how many. Inside the transaction that notes the restore."""
    runs = list(LoopRun.objects.filter(status=LoopRun.Status.RUNNING).order_by("pk"))
    for run in runs:
        _end_run(actor, run, now)
    return len(runs)


def _end_run(actor: Actor, run: LoopRun, now: datetime) -> None:
    run.steps.filter(status=LoopStep.Status.STORED).update(status=LoopStep.Status.NOT_SENT, answer=_RESTORED)
    settled = (LoopStep.Status.VERIFIED, LoopStep.Status.INCOMPLETE, LoopStep.Status.NOT_SENT)
    run.steps.exclude(status__in=settled).update(status=LoopStep.Status.UNSEEN)
    was_sent = run.steps.exclude(status=LoopStep.Status.NOT_SENT).exists()
    status = LoopRun.Status.INCOMPLETE if was_sent else LoopRun.Status.FAILED
    reason = f"{_RESTORED} {_UNKNOWN} The next run plans from that."
    LoopRun.objects.filter(pk=run.pk, status=LoopRun.Status.RUNNING).update(
        status=status, reason=reason, finished_at=now, next_attempt_at=None
    )
    record_audit(actor, f"loop_run.{status.value}", run, reason=_RESTORED)


def _stop_hand_overs(actor: Actor) -> None:
    """Pause what ran, and cancel what waited for an approval: it was planned from another state. Deletes stay
    held while it is paused. Inside the transaction that notes the restore."""
    status = HandOver.Status
    for row in HandOver.objects.filter(status__in=(status.REQUESTED, status.RUNNING)).order_by("pk"):
        if row.status == status.REQUESTED:
            reason = f"{_RESTORED} Request it again, to plan from what is true now."
            advance_row(actor, row, [status.REQUESTED], status.CANCELLED, reason=reason)
        else:
            reason = (
                "The database was restored from an earlier state. Compare the names with the provider, then "
                "resume the hand-over."
            )
            advance_row(actor, row, [status.RUNNING], status.PAUSED, reason=reason)
