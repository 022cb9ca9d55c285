"""The end of a transfer: its status from its items, the mirror brought up to date, its finding."""

from collections import Counter

from providers.client.provider_client import RecordsAnswer
from registry_app.actor import SYSTEM
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import StateMoved
from registry_app.models import NEVER_SENT, Finding, SyncRun, Transfer, TransferItem
from registry_app.queries.transfer_items import compute_watch_until, is_given_back
from registry_app.reconcile.findings.draft import FindingDraft, compute_fingerprint
from registry_app.reconcile.store_findings import open_finding, resolve_finding
from registry_app.reconcile.sync import sync_under_lease
from registry_app.transfer.plan.ended_rights import EndedRight
from registry_app.transfer.send.session import LeasedTransfer, store_outcomes
from registry_app.transfer.send.steps import ARRIVED_LATE, HALF_DONE
from registry_app.transfer.transfer_row import advance, name_transfer

_STATUS = Transfer.Status
_ITEM = TransferItem.Status


def conclude(
    leased: LeasedTransfer, stop_reason: str = "", answer: RecordsAnswer | None = None, *, syncs: bool = True
) -> None:
    """End the transfer. What was not sent stays so, for `stop_reason`. Raises LeaseLost.

    `answer` is what the provider showed after all that was sent; it is read again where that is None.
    Without the sync the mirror catches up with the provider's next one.
    """
    was_sent = leased.transfer.steps.exclude(status__in=NEVER_SENT).exists()
    with leased.fenced():
        _close_items(leased.transfer, stop_reason)
        if was_sent and leased.transfer.status == _STATUS.SENDING:
            leased.transfer = advance(
                leased.transfer,
                before=[_STATUS.SENDING],
                after=_STATUS.SENT,
                actor=SYSTEM,
                reason=stop_reason,
            )
    crash_point("transfer.closed")
    if was_sent and syncs:
        _sync(leased, answer)
        crash_point("transfer.synced")
    counts = Counter(leased.transfer.items.values_list("status", flat=True).order_by())
    _end(leased, _compute_status(counts, was_sent=was_sent), counts, stop_reason)
    crash_point("transfer.ended")


def end_stale(leased: LeasedTransfer, reason: str) -> None:
    """End the transfer as stale: not a byte was sent. Unchanged items become stale with it."""
    with leased.fenced():
        leased.transfer.items.filter(status=_ITEM.PENDING).update(
            status=_ITEM.STALE, status_reason="Not sent, because the transfer as a whole was not."
        )
        advance(
            leased.transfer,
            before=[_STATUS.SENDING, _STATUS.APPROVED],
            after=_STATUS.STALE,
            actor=SYSTEM,
            reason=reason,
            status_reason=f"{reason} Nothing was sent. Request it again to plan from what is true now.",
        )


def withdraw_approval(leased: LeasedTransfer, ended: EndedRight) -> None:
    """Set it back to requested, because a right ended that its approval depended on. Not a byte was sent."""
    reason = ended.reason
    with leased.fenced():
        advance(
            leased.transfer,
            before=[_STATUS.APPROVED],
            after=_STATUS.REQUESTED,
            actor=SYSTEM,
            reason=reason,
            action="transfer.approval_ended",
            status_reason=f"{reason} Nothing was sent. It needs an approval again.",
            approved_by=None,
            approved_by_issuer=None,
            approved_by_name="",
            approved_fingerprint="",
            approved_at=None,
            next_attempt_at=None,
            **ended.consent,
        )


def compute_stuck_fingerprint(transfer: Transfer) -> bytes:
    """The one finding of a transfer that needs an operator."""
    return compute_fingerprint(Finding.Kind.TRANSFER_STUCK, transfer.provider_id, str(transfer.public_id))


def resolve_stuck_finding(transfer: Transfer) -> None:
    """Called when somebody decided, or the transfer ended. Inside the caller's transaction."""
    resolve_finding(compute_stuck_fingerprint(transfer), fetch_now())


def _close_items(transfer: Transfer, stop_reason: str) -> None:
    reason = stop_reason or "Not sent."
    # Sent once, and to be sent again: what became of the first time is not known.
    sent = transfer.steps.exclude(status__in=NEVER_SENT).values("batch")
    transfer.items.filter(status=_ITEM.PENDING, batch__in=sent).update(
        status=_ITEM.NEEDS_OPERATOR, status_reason=f"It was sent before, and not again: {reason}"
    )
    transfer.items.filter(status=_ITEM.PENDING).update(status=_ITEM.STALE, status_reason=reason)
    outstanding = transfer.items.filter(status=_ITEM.SENDING).values_list("pk", flat=True)
    store_outcomes(dict.fromkeys(outstanding, (_ITEM.NEEDS_OPERATOR, HALF_DONE)))


def _sync(leased: LeasedTransfer, answer: RecordsAnswer | None) -> None:
    """Bring the mirror up to date. A sync that fails is recorded by its own run, and changes nothing here."""
    leased.renew()
    leased.provider.refresh_from_db()
    sync_under_lease(
        leased.lease,
        leased.provider,
        trigger=SyncRun.Trigger.TRANSFER,
        transfer_id=leased.transfer.pk,
        answer=answer,
    )


def _compute_status(counts: Counter[str], *, was_sent: bool) -> str:
    if counts[_ITEM.NEEDS_OPERATOR]:
        return _STATUS.NEEDS_OPERATOR
    if counts[_ITEM.VERIFIED] == counts.total():
        return _STATUS.VERIFIED
    return _STATUS.FAILED if was_sent or counts[_ITEM.VERIFIED] else _STATUS.STALE


def _end(leased: LeasedTransfer, status: str, counts: Counter[str], stop_reason: str) -> None:
    transfer = leased.transfer
    late = transfer.items.filter(status=_ITEM.VERIFIED, status_reason=ARRIVED_LATE).count()
    reason = _describe_end(status, counts, stop_reason, late)
    watch_until = transfer.watch_until
    if status == _STATUS.FAILED:
        watch_until = compute_watch_until(transfer, fetch_now())
    with leased.fenced():
        advance(
            transfer,
            before=[_STATUS.SENDING, _STATUS.SENT],
            after=status,
            actor=SYSTEM,
            reason=reason,
            counts=dict(counts),
            status_reason=reason,
            next_attempt_at=None,
            watch_until=watch_until,
        )
        resolve_stuck_finding(transfer)
        if status == _STATUS.NEEDS_OPERATOR:
            _open_stuck_finding(transfer, reason)
        if transfer.undo_of is not None and counts[_ITEM.VERIFIED] and is_given_back(transfer.undo_of):
            _roll_back_original(transfer.undo_of, transfer)


def _roll_back_original(original: Transfer, undo: Transfer) -> None:
    try:
        advance(
            original,
            before=[_STATUS.VERIFIED, _STATUS.FAILED],
            after=_STATUS.ROLLED_BACK,
            actor=SYSTEM,
            reason=f"Undone by {name_transfer(undo)}.",
            # The original ended before its undo: later syncs depend on that order.
            finished_at=original.finished_at,
            status_reason=f"Undone by {name_transfer(undo)}.",
        )
    except StateMoved:
        return  # an earlier undo of it was verified before


def _open_stuck_finding(transfer: Transfer, reason: str) -> None:
    draft = FindingDraft(
        kind=Finding.Kind.TRANSFER_STUCK,
        severity=Finding.Severity.ERROR,
        subject=str(transfer.public_id),
        explanation=f"{name_transfer(transfer).capitalize()} needs an operator. {reason}",
        suggestion={"kind": "look_at_transfer", "transfer_id": transfer.pk},
    )
    open_finding(transfer.provider_id, draft, fetch_now())


def _describe_end(status: str, counts: Counter[str], stop_reason: str, late: int) -> str:
    total, verified = counts.total(), counts[_ITEM.VERIFIED]
    if status == _STATUS.VERIFIED:
        text = f"All {total} were read back as written." if total > 1 else "It was read back as written."
        return f"{text} {_describe_late(late, total)}".strip()
    parts = [f"{verified} of {total} were read back as written"]
    if late:
        parts.append(f"{late} of them arrived late")
    if counts[_ITEM.FAILED]:
        parts.append(f"{counts[_ITEM.FAILED]} were read back as before")
    if counts[_ITEM.STALE]:
        parts.append(f"{counts[_ITEM.STALE]} were not sent")
    if counts[_ITEM.NEEDS_OPERATOR]:
        parts.append(f"{counts[_ITEM.NEEDS_OPERATOR]} are neither as they were nor as wanted")
    text = f"{stop_reason} {', '.join(parts)}.".strip()
    if status == _STATUS.FAILED and verified:
        text += " An undo restores what was written."
    if status == _STATUS.FAILED and counts[_ITEM.FAILED]:
        text += " The provider may still apply the rest: syncs check that for 24 hours."
    return text


def _describe_late(late: int, total: int) -> str:
    if not late:
        return ""
    arrived = f"{late} of them arrived late" if late < total else "Arrived late"
    return f"{arrived}: the transfer had ended as failed before."
