"""What a restore does to transfers and loop runs that were open: they end, and nothing of them is sent."""

from datetime import datetime

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.models import LoopRun, LoopStep, Transfer, TransferItem, TransferStep
from registry_app.transfer.send.conclude import resolve_stuck_finding
from registry_app.transfer.transfer_row import advance

_STATUS = Transfer.Status
_ITEM = TransferItem.Status
_STEP = TransferStep.Status
_NOT_SENT = (_STEP.STORED, _STEP.NOT_SENT)
_UNSETTLED = (_STEP.SENDING, _STEP.ANSWERED, _STEP.UNKNOWN)
_VOID = "Void: the database was restored from an earlier state."
_UNKNOWN = "dnsadmin does not know what was sent between the backup and the restore. The provider shows it."


def void_transfers(actor: Actor) -> int:
    """End every open transfer; how many. Inside the transaction that notes the restore."""
    transfers = list(Transfer.objects.filter(status__in=Transfer.OPEN_STATUSES).order_by("pk"))
    for transfer in transfers:
        _void_transfer(actor, transfer)
    return len(transfers)


def _void_transfer(actor: Actor, transfer: Transfer) -> None:
    transfer.steps.filter(status=_STEP.STORED).update(status=_STEP.NOT_SENT, answer=_VOID)
    was_sent = transfer.steps.exclude(status__in=_NOT_SENT).exists()
    transfer.steps.filter(status__in=_UNSETTLED).update(status=_STEP.NEEDS_OPERATOR, read_back_at=None)
    transfer.items.filter(status=_ITEM.PENDING).update(status=_ITEM.STALE, status_reason=_VOID)
    left = _ITEM.NEEDS_OPERATOR if was_sent else _ITEM.STALE
    transfer.items.filter(status=_ITEM.SENDING).update(status=left, status_reason=f"{_VOID} {_UNKNOWN}")
    reason = f"{_VOID} dnsadmin sends nothing more for it. {_UNKNOWN} Request it again, to plan from that."
    advance(
        transfer,
        before=Transfer.OPEN_STATUSES,
        after=_STATUS.FAILED if was_sent else _STATUS.STALE,
        actor=actor,
        reason=_VOID,
        status_reason=reason,
        next_attempt_at=None,
    )
    resolve_stuck_finding(transfer)


def void_loop_runs(actor: Actor, now: datetime) -> int:
    """End every run that is under way; how many. Inside the transaction that notes the restore."""
    runs = list(LoopRun.objects.filter(status=LoopRun.Status.RUNNING).order_by("pk"))
    for run in runs:
        _void_run(actor, run, now)
    return len(runs)


def _void_run(actor: Actor, run: LoopRun, now: datetime) -> None:
    run.steps.filter(status=LoopStep.Status.STORED).update(status=LoopStep.Status.NOT_SENT, answer=_VOID)
    settled = (LoopStep.Status.VERIFIED, LoopStep.Status.INCOMPLETE, LoopStep.Status.NOT_SENT)
    run.steps.exclude(status__in=settled).update(status=LoopStep.Status.UNSEEN)
    was_sent = run.steps.exclude(status=LoopStep.Status.NOT_SENT).exists()
    status = LoopRun.Status.INCOMPLETE if was_sent else LoopRun.Status.FAILED
    reason = f"{_VOID} {_UNKNOWN} The next run plans from that."
    LoopRun.objects.filter(pk=run.pk, status=LoopRun.Status.RUNNING).update(
        status=status, reason=reason, finished_at=now, next_attempt_at=None
    )
    record_audit(actor, f"loop_run.{status.value}", run, reason=_VOID)
