"""The rights that a running hand-over rests on: of who approved it, or of those who consented to it."""

from collections.abc import Collection

from registry_app.errors import NotAllowed
from registry_app.models import Grant, HandOver, Provider
from registry_app.queries.access import may_act
from registry_app.queries.actor import fetch_person, find_same_people
from registry_app.queries.approval_policy import needs_both_sides, needs_other_person
from registry_app.queries.consent import (
    describe_side,
    find_ended_consent,
    find_last_ended_consent,
    has_two_people,
)
from registry_app.queries.sides import Side


def raise_if_rights_ended(row: HandOver, names: Collection[str]) -> None:
    """Raise NotAllowed where who let it run may not let these names move any more, or more people are asked
    for by now."""
    if needs_both_sides(row):
        reason = _find_ended_consents(row, names)
    elif row.provider.approval_policy == Provider.ApprovalPolicy.NONE:
        return
    else:
        reason = _find_ended_approval(row, names)
    if reason:
        raise NotAllowed(reason, todo="Cancel the hand-over and request it again.", code="approval_ended")


def _find_ended_approval(row: HandOver, names: Collection[str]) -> str:
    approver = fetch_person(row.approved_by_id, row.approved_by_name)
    same = find_same_people(row, approver) if needs_other_person(row) else ""
    owners = (row.from_owner, row.to_owner)
    if same or all(
        may_act(approver, Grant.Action.APPROVE, provider=row.provider, owner=owner, names=names)
        for owner in owners
    ):
        return same
    return f"{row.approved_by_name or 'Nobody'} approved it and may not approve it any more."


def _find_ended_consents(row: HandOver, names: Collection[str]) -> str:
    if not row.consent_side:
        named = " or ".join(describe_side(row, side) for side in Side)
        return f"{row.provider.name} asks both sides to agree, and nobody consented for {named}."
    items = [("", name) for name in names]
    ended = find_ended_consent(row, items) or find_last_ended_consent(row, items)
    if not ended and not has_two_people(row):
        return f"{row.provider.name} asks for the consents of two people, and there is one."
    return ended
