"""What people decide about a transfer: approve, reject, cancel, and what to do if it needs an operator."""

from typing import Any
from uuid import UUID

from django.db import transaction

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import InvalidRequest, NotAllowed, RefusedBySafety, StateMoved
from registry_app.models import UNSETTLED, Grant, Transfer, TransferItem, TransferStep
from registry_app.queries.actor import find_same_people
from registry_app.queries.approval_policy import find_policy, needs_both_sides, needs_other_person
from registry_app.queries.consent import (
    ChosenSide,
    build_consent,
    choose_side,
    describe_consent,
    describe_needed_owners,
    raise_if_side_without_sides,
)
from registry_app.queries.sides import may_act_on_both, may_take_part
from registry_app.queries.transfer import DECISIONS, may_cancel
from registry_app.queries.transfer_items import compute_watch_until
from registry_app.transfer.plan.ended_rights import find_ended_right
from registry_app.transfer.plan.frozen import find_transfer_stops
from registry_app.transfer.plan.preconditions import find_changed_precondition, find_changed_url
from registry_app.transfer.plan.provider_plan import compute_stored_fingerprint
from registry_app.transfer.send.conclude import resolve_stuck_finding
from registry_app.transfer.transfer_row import advance, find_transfer

_ITEM = TransferItem.Status
_STEP = TransferStep.Status
_STATUS = Transfer.Status


def approve_transfer(
    actor: Actor, public_id: UUID | str | int, *, fingerprint: str, side: str | None = None
) -> Transfer:
    """Approve the plan with this fingerprint; a worker then sends it.

    If the provider requires another person, requester and approver are different people, whatever rights
    either has. If both sides must agree, this is the consent for one of them (`side`; without it, for the
    only one for which the actor may consent), and the second consent, of another person, approves it. Raises
    NotFound, NotAllowed, InvalidRequest (the side must be said), StateMoved (another plan, too late, somebody
    was first), RefusedBySafety (a freeze).
    """
    transfer = find_transfer(public_id)
    chosen = _choose_side(actor, transfer, side)
    _raise_if_not_as_reviewed(transfer, fingerprint)
    if transfer.expires_at <= fetch_now():
        raise StateMoved(
            f"The transfer expired at {transfer.expires_at:%Y-%m-%d %H:%M} UTC.", todo="Request it again."
        )
    _raise_if_stopped(transfer)
    if chosen is not None and not chosen.is_last:
        return _store_consent(actor, transfer, chosen)
    return advance(
        transfer,
        before=[Transfer.Status.REQUESTED],
        after=Transfer.Status.APPROVED,
        actor=actor,
        reason=describe_consent(transfer, chosen) if chosen else "",
        expected={"consent_at": transfer.consent_at},
        # The stricter policy, if the provider requires more by now: the database then checks it, too.
        approval_policy=find_policy(transfer),
        approved_by_id=actor.user_id,
        approved_by_issuer_id=actor.answerer_id,
        approved_by_name=actor.name[:200],
        approved_fingerprint=fingerprint,
        approved_at=fetch_now(),
        next_attempt_at=None,
    )


def _choose_side(actor: Actor, transfer: Transfer, asked: str | None) -> ChosenSide | None:
    """The side `actor` consents for; None where one approval is for both. Raises as `approve_transfer`."""
    if needs_both_sides(transfer):
        return choose_side(actor, transfer, asked)
    raise_if_side_without_sides(transfer, asked)
    _raise_if_may_not_approve(actor, transfer)
    return None


def _store_consent(actor: Actor, transfer: Transfer, chosen: ChosenSide) -> Transfer:
    """The first of two consents, or one in place of a first one that ended: it stays requested."""
    return advance(
        transfer,
        before=[_STATUS.REQUESTED],
        after=_STATUS.REQUESTED,
        actor=actor,
        action="transfer.consented",
        reason=describe_consent(transfer, chosen),
        expected={"consent_at": transfer.consent_at},
        approval_policy=find_policy(transfer),
        **build_consent(actor, chosen.side),
    )


def _raise_if_not_as_reviewed(transfer: Transfer, fingerprint: str) -> None:
    """Raise StateMoved unless settings and stored rows are what has this fingerprint (I8)."""
    changed = find_changed_url(transfer, transfer.provider) or find_changed_precondition(
        transfer, transfer.provider
    )
    if changed:
        raise StateMoved(changed, todo="Request it again, to review what is true now.", code="plan_moved")
    # The stored rows are what will be sent, so they must be what was reviewed.
    if fingerprint != transfer.plan_fingerprint or fingerprint != compute_stored_fingerprint(transfer):
        raise StateMoved(
            "The plan is not the one that was reviewed.",
            todo="Open the transfer again and approve what it shows now, or request a new one.",
            code="plan_moved",
        )


def _raise_if_may_not_approve(actor: Actor, transfer: Transfer) -> None:
    """Raise NotAllowed unless `actor` may approve both sides and, where another person has to, is one."""
    same = find_same_people(transfer, actor) if needs_other_person(transfer) else ""
    if same:
        raise NotAllowed(same, todo="Ask another person who may approve.", code="other_person_needed")
    if not may_act_on_both(actor, Grant.Action.APPROVE, transfer):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not approve transfers of these record sets.",
            todo="Ask somebody who may approve transfers of both owners.",
        )


def _raise_if_stopped(transfer: Transfer) -> None:
    """Raise RefusedBySafety while it may not be sent: a freeze, or a restore."""
    for stop in find_transfer_stops(transfer):
        raise RefusedBySafety(stop.happened, todo=stop.todo, code=stop.code)


def reject_transfer(actor: Actor, public_id: UUID | str | int, *, reason: str) -> Transfer:
    """End a requested transfer; nothing was sent. Raises NotFound, NotAllowed, InvalidRequest, StateMoved."""
    transfer = find_transfer(public_id)
    if not may_take_part(actor, Grant.Action.APPROVE, transfer):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not decide on transfers of these record sets.",
            todo=f"Ask somebody who may approve transfers of {describe_needed_owners(transfer)}. The "
            "requester may cancel the transfer.",
        )
    if not reason.strip():
        raise InvalidRequest("The rejection has no reason.", fields={"reason": ["Say why."]})
    return advance(
        transfer,
        before=[Transfer.Status.REQUESTED],
        after=Transfer.Status.REJECTED,
        actor=actor,
        reason=reason.strip(),
        status_reason=f"Rejected by {actor.name}: {reason.strip()}",
    )


def cancel_transfer(actor: Actor, public_id: UUID | str | int, *, reason: str) -> Transfer:
    """End a transfer that is requested or approved; nothing was sent.

    Once its worker began, it is too late. Raises NotFound, NotAllowed, StateMoved.
    """
    transfer = find_transfer(public_id)
    if not may_cancel(actor, transfer):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not cancel this transfer.",
            todo="Ask the requester, or somebody who may request transfers of "
            f"{describe_needed_owners(transfer)}.",
        )
    return advance(
        transfer,
        before=[Transfer.Status.REQUESTED, Transfer.Status.APPROVED],
        after=Transfer.Status.CANCELLED,
        actor=actor,
        reason=reason.strip(),
        status_reason=f"Cancelled by {actor.name}{': ' if reason.strip() else ''}{reason.strip()}.",
    )


def decide_transfer(actor: Actor, public_id: UUID | str | int, *, decision: str, reason: str) -> Transfer:
    """Read back again (reads only), send again (what the provider still shows as before), or keep as it is.

    `queries.transfer.DECISIONS` explains each. Raises NotFound, NotAllowed, InvalidRequest,
    StateMoved, RefusedBySafety (send again where nothing may be sent).
    """
    transfer = find_transfer(public_id)
    if not may_act_on_both(actor, Grant.Action.OPERATE, transfer):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not decide on transfers of these record sets.",
            todo="Ask somebody with a grant to operate for both owners.",
        )
    _raise_if_invalid(transfer, decision, reason)
    if decision == "send_again":
        _raise_if_stopped(transfer)
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


def _raise_if_invalid(transfer: Transfer, decision: str, reason: str) -> None:
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
    """The provider may still apply what is kept as it is: the next syncs check that."""
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
