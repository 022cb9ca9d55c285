"""Reject a transfer that waits for approval."""

from uuid import UUID

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, NotAllowed
from registry_app.models import Grant, Transfer
from registry_app.queries.transfer_access import may_act_on_transfer
from registry_app.transfer.transfer_row import advance, find_transfer


def reject_transfer(actor: Actor, public_id: UUID | str | int, *, reason: str) -> Transfer:
    """End a requested transfer; nothing was sent. Raises NotFound, NotAllowed, InvalidRequest, StateMoved."""
    transfer = find_transfer(public_id)
    if not may_act_on_transfer(actor, Grant.Action.APPROVE, transfer):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not decide on transfers of these record sets.",
            todo="Ask somebody who may approve transfers of both owners. The requester may cancel the "
            "transfer.",
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
