"""Cancel a transfer before anything was sent."""

from uuid import UUID

from registry_app.actor import Actor
from registry_app.errors import NotAllowed
from registry_app.models import Transfer
from registry_app.queries.transfer_access import may_cancel
from registry_app.transfer.transfer_row import advance, find_transfer


def cancel_transfer(actor: Actor, public_id: UUID | str | int, *, reason: str) -> Transfer:
    """End a transfer that is requested or approved; nothing was sent.

    Once its worker began, it is too late. Raises NotFound, NotAllowed, StateMoved.
    """
    transfer = find_transfer(public_id)
    if not may_cancel(actor, transfer):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not cancel this transfer.",
            todo="Ask the requester, or somebody who may request transfers of both owners.",
        )
    return advance(
        transfer,
        before=[Transfer.Status.REQUESTED, Transfer.Status.APPROVED],
        after=Transfer.Status.CANCELLED,
        actor=actor,
        reason=reason.strip(),
        status_reason=f"Cancelled by {actor.name}{': ' if reason.strip() else ''}{reason.strip()}.",
    )
