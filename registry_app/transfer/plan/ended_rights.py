"""The rights that a transfer rests on: of who requested it, and of who approved it or consented to it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from registry_app.actor import Actor
from registry_app.models import Grant, Transfer
from registry_app.queries.actor import people_of
from registry_app.queries.approval_policy import needs_both_sides, needs_other_person
from registry_app.queries.consent import (
    build_left_consent,
    describe_side,
    find_ended_consent,
    find_last_ended_consent,
    find_lost_right,
    has_two_people,
)
from registry_app.queries.sides import Part, Side, find_denied_on_both, find_denied_side, list_side
from registry_app.queries.transfer import POLICY_APPROVES

Sides = Sequence[Part]
_NO_CHANGE: Mapping[str, Any] = {}


class EndedRight(NamedTuple):
    """Why nothing may be sent any more. Another approval helps if the right to request it did not end;
    `consent` are then the columns of what still counts as a first consent."""

    reason: str
    needs_approval: bool
    consent: Mapping[str, Any] = _NO_CHANGE


class NoLongerAllowed(Exception):
    """A step may not be stored any more. The message is the reason."""


def find_ended_right(transfer: Transfer, sides: Sides | None = None) -> EndedRight | None:
    """Which right of the requester, the approver or who consented ended since; None if none did.

    `sides` are (owner ids, name) of the items that are checked; None: all of them. Accounts and grants
    are read again each time, because a run may last long.
    """
    request = _find_ended_request(transfer, sides)
    if request:
        return EndedRight(request, needs_approval=False)
    if needs_both_sides(transfer):
        return _find_ended_consents(transfer, sides)
    approval = _find_ended_approval(transfer, sides)
    return EndedRight(approval, needs_approval=True) if approval else None


def _find_ended_request(transfer: Transfer, sides: Sides | None) -> str:
    """Why its requester may not request it any more; empty if they may."""

    def find_denied(actor: Actor) -> str | None:
        if not needs_both_sides(transfer):
            return _find_denied(actor, Grant.Action.REQUEST, transfer, sides)
        giving, taking = (list_side(transfer, side, sides) for side in Side)
        denied = find_denied_on_both(actor, Grant.Action.REQUEST, transfer.provider, giving, taking)
        return None if denied is None else f"request transfers of {denied}"

    return find_lost_right(transfer.requested_by_id, transfer.requested_by_name, "requested it", find_denied)


def _find_ended_approval(transfer: Transfer, sides: Sides | None) -> str:
    approver_id, name = transfer.approved_by_id, transfer.approved_by_name
    lost = ""
    if approver_id is not None or not name.startswith(POLICY_APPROVES):
        lost = find_lost_right(
            approver_id,
            name,
            "approved it",
            lambda actor: _find_denied(actor, Grant.Action.APPROVE, transfer, sides),
        )
    approvers = people_of(approver_id, transfer.approved_by_issuer_id)
    requesters = people_of(transfer.requested_by_id, transfer.requested_by_issuer_id)
    is_other = bool(approvers and requesters) and approvers.isdisjoint(requesters)
    if not lost and needs_other_person(transfer) and not is_other:
        return f"{transfer.provider.name} asks for another person's approval, and there is none."
    return lost


def _find_denied(actor: Actor, action: Grant.Action, transfer: Transfer, sides: Sides | None) -> str | None:
    checked = list_side(transfer, Side.GIVER, sides)
    denied = find_denied_side(actor, action, transfer.provider, checked, transfer.target_owner)
    return None if denied is None else f"{action.value} transfers of {denied}"


def _find_ended_consents(transfer: Transfer, sides: Sides | None) -> EndedRight | None:
    if not transfer.consent_side:
        named = " or ".join(describe_side(transfer, side) for side in Side)
        reason = f"{transfer.provider.name} asks both sides to agree, and nobody consented for {named} yet."
        return EndedRight(reason, needs_approval=True)
    first, last = find_ended_consent(transfer, sides), find_last_ended_consent(transfer, sides)
    if not (first or last) and not has_two_people(transfer):
        last = f"{transfer.provider.name} asks for the consents of two people, and there is one."
    if not (first or last):
        return None
    left = build_left_consent(transfer, is_first_ended=bool(first), is_last_ended=bool(last))
    return EndedRight(f"{first} {last}".strip(), needs_approval=True, consent=left)
