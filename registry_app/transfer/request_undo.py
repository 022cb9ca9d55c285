"""Request the undo of a transfer: a new transfer, from the stored bytes, checked against what is live."""

import uuid
from uuid import UUID

from django.db import IntegrityError, transaction

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, StateMoved
from registry_app.models import Transfer
from registry_app.queries.transfer import UNDOABLE
from registry_app.transfer.find_transfer import find_transfer
from registry_app.transfer.plan.provider_plan import ProviderPlan
from registry_app.transfer.request_transfer import raise_if_refused, raise_if_unconfirmed
from registry_app.transfer.store_transfer import Purpose, store_transfer
from registry_app.transfer.undo_plan import build_undo_plan


def preview_undo(actor: Actor, public_id: UUID | str) -> ProviderPlan:
    """What an undo would write, and what speaks against it. Reads only. Raises NotFound, StateMoved."""
    return build_undo_plan(actor, _find_undoable(public_id))


def request_undo(actor: Actor, public_id: UUID | str, *, reason: str, confirmation: str = "") -> Transfer:
    """Store a transfer that gives back every verified item, under the provider's approval policy.

    Nothing is written where the provider shows something else than what the original wrote (I9). The
    original is rolled back once the undo is verified. Raises NotFound, StateMoved, InvalidRequest,
    NotAllowed, RefusedBySafety.
    """
    original = _find_undoable(public_id)
    if not reason.strip():
        raise InvalidRequest("The undo has no reason.", fields={"reason": ["Say why."]})
    plan = build_undo_plan(actor, original)
    raise_if_refused(plan.refusals)
    raise_if_unconfirmed(plan.confirmation_text, confirmation)
    purpose = Purpose(
        kind=Transfer.Kind.UNDO,
        reason=reason.strip(),
        group=uuid.uuid4(),
        ticket=original.ticket,
        confirmation=confirmation.strip()[:255],
        undo_of=original,
    )
    try:
        with transaction.atomic():
            return store_transfer(actor, plan, purpose)
    except IntegrityError as error:
        raise StateMoved(
            "Another request took some of these names a moment ago.",
            now="Its transfer stands; this one was not stored.",
            todo="Look at the open transfers.",
        ) from error


def _find_undoable(public_id: UUID | str) -> Transfer:
    original = find_transfer(public_id)
    if original.status not in UNDOABLE:
        raise StateMoved(
            f"A transfer that is {original.get_status_display().lower()} cannot be undone.",
            todo="Only what was written can be: a verified or failed transfer.",
            code="not_undoable",
        )
    return original
