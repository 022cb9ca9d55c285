"""Request a transfer: from a reviewed plan to rows that wait for approval."""

import uuid

from django.db import IntegrityError, transaction

from registry_app.actor import Actor
from registry_app.crash_point import crash_point
from registry_app.errors import (
    ConfirmationNeeded,
    DnsadminError,
    InvalidRequest,
    NotAllowed,
    RefusedBySafety,
    StateMoved,
)
from registry_app.models import Transfer
from registry_app.transfer.plan.preview import preview_transfer
from registry_app.transfer.plan.provider_plan import ProviderPlan, Refusal
from registry_app.transfer.plan.refusals import is_confirmed
from registry_app.transfer.plan.transfer_request import TransferRequest
from registry_app.transfer.store_transfer import Purpose, store_transfer


def request_transfer(actor: Actor, request: TransferRequest) -> list[Transfer]:
    """Store one transfer for each provider of the request, all of them or none.

    The plan is made again from the mirror. A request without fingerprints waits for an approval, whatever the
    provider's policy. Raises StateMoved where it is not the one whose fingerprint
    the request carries, or where another request was first; NotAllowed, RefusedBySafety (the first
    refusal, or a missing confirmation), InvalidRequest, NotFound.
    """
    if not request.reason.strip():
        raise InvalidRequest("The request has no reason.", fields={"reason": ["Say why."]})
    plans = preview_transfer(actor, request)
    _raise_if_moved(request, plans)
    for plan in plans:
        raise_if_refused(plan.refusals)
    raise_if_unconfirmed(plans[0].confirmation_text, request.confirmation)
    purpose = Purpose(
        kind=request.kind,
        reason=request.reason.strip(),
        group=uuid.uuid4(),
        target_intent=request.target_intent,
        ticket=request.ticket.strip()[:200],
        confirmation=request.confirmation.strip()[:255],
        is_reviewed=bool(request.fingerprints),
    )
    try:
        with transaction.atomic():
            stored = [store_transfer(actor, plan, purpose) for plan in plans]
    except IntegrityError as error:
        raise StateMoved(
            "Another transfer of some of these names was requested a moment ago.",
            now="This request was not stored.",
            todo="Look at the open transfers, or ask for a new preview.",
        ) from error
    crash_point("transfer.requested")
    return stored


def raise_if_refused(refusals: tuple[Refusal, ...]) -> None:
    """Raise the first refusal as the error it is."""
    for refusal in refusals:
        if refusal.is_warning:
            continue
        kind: type[DnsadminError] = NotAllowed if refusal.code == NotAllowed.code else RefusedBySafety
        raise kind(refusal.happened, now=refusal.now, todo=refusal.todo, code=refusal.code)


def raise_if_unconfirmed(wanted: str, typed: str) -> None:
    """Raise ConfirmationNeeded unless the text that is asked for was typed."""
    if not is_confirmed(wanted, typed):
        raise ConfirmationNeeded(
            "The next sync of the new owner may delete some of these record sets, or its effect is unknown.",
            wanted,
        )


def _raise_if_moved(request: TransferRequest, plans: tuple[ProviderPlan, ...]) -> None:
    if not request.fingerprints:
        return
    if dict(request.fingerprints) != {plan.provider.pk: plan.fingerprint for plan in plans}:
        raise StateMoved(
            "The plan changed since you reviewed it: the mirror or the request is different now.",
            todo="Check the new preview, and request again if it is still right.",
            code="plan_moved",
        )
