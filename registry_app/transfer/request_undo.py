"""Request the undo of a transfer: a new transfer, from the stored bytes, checked against what is live."""

import uuid
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, transaction

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, StateMoved
from registry_app.models import Transfer
from registry_app.queries.transfer import UNDOABLE
from registry_app.transfer.plan.preview import raise_if_unknown_intent
from registry_app.transfer.plan.provider_plan import ProviderPlan
from registry_app.transfer.request_transfer import raise_if_refused, raise_if_unconfirmed
from registry_app.transfer.store_transfer import Purpose, store_transfer
from registry_app.transfer.transfer_row import find_transfer
from registry_app.transfer.undo_plan import build_undo_plan


@dataclass(frozen=True)
class UndoRequest:
    """What somebody says who undoes a transfer. `fingerprint` is the one of the preview they saw; without it
    the undo waits for an approval. `target_intent` is what the former owner's ExternalDNS wants of the record
    sets."""

    reason: str = ""
    confirmation: str = ""
    fingerprint: str = ""
    target_intent: str = Transfer.TargetIntent.UNKNOWN


def preview_undo(
    actor: Actor, public_id: UUID | str | int, *, target_intent: str = Transfer.TargetIntent.UNKNOWN
) -> ProviderPlan:
    """What an undo would write, and what speaks against it. Reads only.

    Raises NotFound, StateMoved, InvalidRequest (an unknown intent).
    """
    raise_if_unknown_intent(target_intent)
    return build_undo_plan(actor, _find_undoable(public_id), target_intent)


def request_undo(actor: Actor, public_id: UUID | str | int, asked: UndoRequest) -> Transfer:
    """Store a transfer that gives back every verified item, under the provider's approval policy.

    Nothing is written where the provider shows something else than what the original wrote (I9). The
    original is rolled back once the undo is verified. Raises NotFound, StateMoved, InvalidRequest,
    NotAllowed, RefusedBySafety.
    """
    original = _find_undoable(public_id)
    if not asked.reason.strip():
        raise InvalidRequest("The undo has no reason.", fields={"reason": ["Say why."]})
    raise_if_unknown_intent(asked.target_intent)
    plan = build_undo_plan(actor, original, asked.target_intent)
    if asked.fingerprint and asked.fingerprint != plan.fingerprint:
        raise StateMoved(
            "The plan of the undo changed since you reviewed it: the mirror or the request is different now.",
            todo="Check the new preview, and request again if it is still right.",
            code="plan_moved",
        )
    raise_if_refused(plan.refusals)
    raise_if_unconfirmed(plan.confirmation_text, asked.confirmation)
    purpose = Purpose(
        kind=Transfer.Kind.UNDO,
        reason=asked.reason.strip(),
        group=uuid.uuid4(),
        target_intent=asked.target_intent,
        ticket=original.ticket,
        confirmation=asked.confirmation.strip()[:255],
        undo_of=original,
        is_reviewed=bool(asked.fingerprint),
    )
    try:
        with transaction.atomic():
            return store_transfer(actor, plan, purpose)
    except IntegrityError as error:
        raise StateMoved(
            "Another transfer of some of these names was requested a moment ago.",
            now="This request was not stored.",
            todo="Look at the open transfers.",
        ) from error


def _find_undoable(public_id: UUID | str | int) -> Transfer:
    original = find_transfer(public_id)
    if original.status not in UNDOABLE:
        raise StateMoved(
            f"A transfer that is {original.get_status_display().lower()} cannot be undone.",
            todo="Only a verified or failed transfer can be undone.",
            code="not_undoable",
        )
    return original
