"""Approve a transfer, as it was reviewed."""

from uuid import UUID

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.errors import NotAllowed, RefusedBySafety, StateMoved
from registry_app.models import Grant, Provider, Transfer
from registry_app.queries.people import find_same_people
from registry_app.queries.send_gate import find_send_stops
from registry_app.queries.transfer import needs_other_person
from registry_app.queries.transfer_access import may_act_on_transfer
from registry_app.transfer.plan.preconditions import find_changed_precondition, find_changed_url
from registry_app.transfer.plan.provider_plan import compute_stored_fingerprint
from registry_app.transfer.transfer_row import advance, find_transfer

_OTHER_PERSON = Provider.ApprovalPolicy.OTHER_PERSON


def approve_transfer(actor: Actor, public_id: UUID | str | int, *, fingerprint: str) -> Transfer:
    """Approve the plan with this fingerprint; a worker sends it when it comes to it.

    Where the provider asks for another person, two different people are behind request and approval, whatever
    else either may do.
    Raises NotFound, NotAllowed, StateMoved (another plan, too late, somebody was first), RefusedBySafety
    (a freeze).
    """
    transfer = find_transfer(public_id)
    raise_if_may_not_approve(actor, transfer)
    moved = find_changed_url(transfer, transfer.provider) or find_changed_precondition(
        transfer, transfer.provider
    )
    if moved:
        raise StateMoved(moved, todo="Request it again, to review what is true now.", code="plan_moved")
    # The stored rows are what will be sent: it is they that must be what was reviewed (I8).
    if fingerprint != transfer.plan_fingerprint or fingerprint != compute_stored_fingerprint(transfer):
        raise StateMoved(
            "The plan is not the one that was reviewed.",
            todo="Open the transfer again and approve what it shows now, or request a new one.",
            code="plan_moved",
        )
    if transfer.expires_at <= fetch_now():
        raise StateMoved(
            f"The transfer expired at {transfer.expires_at:%Y-%m-%d %H:%M} UTC.", todo="Request it again."
        )
    raise_if_stopped(transfer.provider)
    return advance(
        transfer,
        before=[Transfer.Status.REQUESTED],
        after=Transfer.Status.APPROVED,
        actor=actor,
        # The stricter one, should the provider ask for more by now: the database then holds it, too.
        approval_policy=_OTHER_PERSON if needs_other_person(transfer) else transfer.approval_policy,
        approved_by_id=actor.user_id,
        approved_by_issuer_id=actor.answerer_id,
        approved_by_name=actor.name[:200],
        approved_fingerprint=fingerprint,
        approved_at=fetch_now(),
        next_attempt_at=None,
    )


def raise_if_may_not_approve(actor: Actor, transfer: Transfer) -> None:
    """Raise NotAllowed unless `actor` may approve both sides and, where another person has to, is one."""
    same = find_same_people(transfer, actor) if needs_other_person(transfer) else ""
    if same:
        raise NotAllowed(same, todo="Ask another person who may approve.", code="other_person_needed")
    if not may_act_on_transfer(actor, Grant.Action.APPROVE, transfer):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not approve transfers of these record sets.",
            todo="Ask somebody who may approve transfers of both owners.",
        )


def raise_if_stopped(provider: Provider) -> None:
    """Raise RefusedBySafety while nothing may be sent to the provider: a freeze, or a restore."""
    for stop in find_send_stops(provider):
        raise RefusedBySafety(stop.happened, todo=stop.todo, code=stop.code)
