"""Decide what becomes of a transfer that needs an operator."""

from typing import Any
from uuid import UUID

from django.db import transaction

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import InvalidRequest, NotAllowed, RefusedBySafety, StateMoved
from registry_app.models import UNSETTLED, Grant, Transfer, TransferItem, TransferStep
from registry_app.queries.late_arrivals import compute_watch_until
from registry_app.queries.transfer import DECISIONS
from registry_app.queries.transfer_access import may_act_on_transfer
from registry_app.transfer.approve_transfer import raise_if_stopped
from registry_app.transfer.plan.preconditions import find_ended_right
from registry_app.transfer.send.conclude import resolve_stuck_finding
from registry_app.transfer.transfer_row import advance, find_transfer

_ITEM = TransferItem.Status
_STEP = TransferStep.Status
_STATUS = Transfer.Status


def decide_transfer(actor: Actor, public_id: UUID | str | int, *, decision: str, reason: str) -> Transfer:
    """Look again (reads only), send again (what the provider still shows as before), or keep as it is.

    `queries.transfer.DECISIONS` says what follows from each. Raises NotFound, NotAllowed, InvalidRequest,
    StateMoved, RefusedBySafety (send again where nothing may be sent).
    """
    transfer = find_transfer(public_id)
    if not may_act_on_transfer(actor, Grant.Action.OPERATE, transfer):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not decide on transfers of these record sets.",
            todo="Ask somebody with a grant to operate for both owners.",
        )
    if decision not in DECISIONS:
        raise InvalidRequest(
            f"There is no decision {decision[:50]!r}.",
            fields={"decision": [f"One of {', '.join(DECISIONS)}."]},
        )
    if not reason.strip():
        raise InvalidRequest("The decision has no reason.", fields={"reason": ["Say why."]})
    if transfer.status != _STATUS.NEEDS_OPERATOR:
        raise StateMoved(
            f"The transfer is {transfer.get_status_display().lower()}: there is nothing to decide.",
            todo="Open it again.",
        )
    if decision == "send_again":
        raise_if_stopped(transfer.provider)
        _raise_if_right_ended(transfer)
    with transaction.atomic():
        decided = advance(
            transfer,
            before=[_STATUS.NEEDS_OPERATOR],
            after=_AFTER[decision],
            actor=actor,
            reason=f"{decision}: {reason.strip()}",
            status_reason=f"{actor.name} decided: {decision.replace('_', ' ')} ({reason.strip()}).",
            attempt=0,
            next_attempt_at=None,
            **_watch_if_over(transfer, decision),
        )
        _move_rows(decided, decision)
        crash_point("transfer.deciding")
        resolve_stuck_finding(decided)
    return decided


def _raise_if_right_ended(transfer: Transfer) -> None:
    ended = find_ended_right(transfer)
    if ended is not None:
        raise RefusedBySafety(
            ended.reason,
            now="Nothing was sent.",
            todo="Keep it as it is, and request a new transfer of what is left.",
            code="approval_ended",
        )


_AFTER = {
    "look_again": _STATUS.SENT,
    "send_again": _STATUS.SENDING,
    "keep_as_is": _STATUS.FAILED,
}


def _watch_if_over(transfer: Transfer, decision: str) -> dict[str, Any]:
    """What is kept as it is may still be changed by the provider: the next syncs look for that."""
    if _AFTER[decision] != _STATUS.FAILED:
        return {}
    return {"watch_until": compute_watch_until(transfer, fetch_now())}


def _move_rows(transfer: Transfer, decision: str) -> None:
    items = transfer.items.filter(status=_ITEM.NEEDS_OPERATOR)
    unclear = transfer.steps.filter(status__in=(_STEP.NEEDS_OPERATOR, *UNSETTLED))
    if decision == "look_again":
        items.update(status=_ITEM.SENDING, status_reason="")
        unclear.update(status=_STEP.UNKNOWN)
    elif decision == "send_again":
        # A fresh reading decides, for each of them, what is still to be sent.
        items.update(status=_ITEM.PENDING, status_reason="")
        unclear.update(status=_STEP.NEEDS_OPERATOR, read_back_at=fetch_now())
