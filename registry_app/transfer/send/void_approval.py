"""Rights that ended between a person's word and the sending: an approval lasts no longer than they do."""

from collections.abc import Iterable
from typing import NamedTuple

from django.contrib.auth import get_user_model

from registry_app.actor import Actor
from registry_app.models import Grant, Transfer
from registry_app.queries.people import people_of
from registry_app.queries.transfer import POLICY_APPROVES, needs_other_person
from registry_app.queries.transfer_access import find_denied_side

Sides = Iterable[tuple[str, str]]


class EndedRight(NamedTuple):
    """Why nothing may be sent any more; another approval may help where the request still stands."""

    reason: str
    needs_approval: bool


class RightEnded(Exception):
    """A step may not be stored any more, for the reason said."""


def find_ended_right(transfer: Transfer, sides: Sides | None = None) -> EndedRight | None:
    """Which right that the transfer rests on ended since; None if all still stand.

    `sides` are (owner ids, name) of the items that are asked about; all of them unless said. Accounts and
    grants are read anew each time: a run may last long.
    """
    request = find_ended_request(transfer, sides)
    if request:
        return EndedRight(request, needs_approval=False)
    approval = _find_ended_approval(transfer, sides)
    return EndedRight(approval, needs_approval=True) if approval else None


def find_ended_request(transfer: Transfer, sides: Sides | None = None) -> str:
    """Why who requested it may not any more; empty if they may."""
    return _find_lost(transfer, transfer.requested_by_id, Grant.Action.REQUEST, "requested", sides)


def _find_ended_approval(transfer: Transfer, sides: Sides | None) -> str:
    approver_id = transfer.approved_by_id
    by_policy = approver_id is None and transfer.approved_by_name.startswith(POLICY_APPROVES)
    lost = "" if by_policy else _find_lost(transfer, approver_id, Grant.Action.APPROVE, "approved", sides)
    approvers = people_of(approver_id, transfer.approved_by_issuer_id)
    requesters = people_of(transfer.requested_by_id, transfer.requested_by_issuer_id)
    is_other = bool(approvers and requesters) and approvers.isdisjoint(requesters)
    if not lost and needs_other_person(transfer) and not is_other:
        return f"{transfer.provider.name} asks for another person's approval, and there is none."
    return lost


def _find_lost(
    transfer: Transfer, user_id: int | None, action: Grant.Action, did: str, sides: Sides | None
) -> str:
    name = transfer.requested_by_name if did == "requested" else transfer.approved_by_name
    user = get_user_model().objects.filter(pk=user_id).first() if user_id is not None else None
    if user is None:
        return f"{name}, who {did} it, has no account any more."
    if not user.is_active:
        return f"{user.get_username()}, who {did} it, may not sign in any more."
    # Their own rights: a token that did it is narrower, and was asked when it did.
    actor = Actor(kind="user", name=name, user_id=user.pk, is_superuser=bool(user.is_superuser))
    if sides is None:
        sides = transfer.items.values_list("owner_before", "name").order_by()
    denied = find_denied_side(actor, action, transfer.provider, sides, transfer.target_owner)
    if denied is None:
        return ""
    may = "request" if action == Grant.Action.REQUEST else "approve"
    return f"{user.get_username()}, who {did} it, may not {may} transfers of {denied} any more."
