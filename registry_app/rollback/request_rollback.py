"""Request a rollback: its transfers, all of them or none."""

from dataclasses import replace

from django.db import transaction

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, NotFound, StateMoved
from registry_app.models import Transfer
from registry_app.rollback.plan_rollback import Part, RollbackPlan, RollbackRequest, plan_rollback
from registry_app.transfer.request_transfer import request_transfer


def request_rollback(actor: Actor, request: RollbackRequest) -> tuple[RollbackPlan, list[Transfer]]:
    """Request one transfer for each pair of owners, under the approval policy of the provider. Each is
    approved, sent, read back and undone by itself.

    Raises what `plan_rollback` and `request_transfer` raise, StateMoved if the plan has another fingerprint
    than the request, and NotFound where nothing can be given back.
    """
    if not request.reason.strip():
        raise InvalidRequest("The request has no reason.", fields={"reason": ["Say why."]})
    plan = plan_rollback(actor, request)
    if request.fingerprint and request.fingerprint != plan.fingerprint:
        raise StateMoved(
            "The plan changed since you reviewed it.",
            todo="Look at the new plan, and request it with its fingerprint if it is still right.",
            code="plan_moved",
        )
    # A part in which every record set is left out is none.
    parts = [part for part in plan.parts if part.plan.included or part.plan.refusals]
    if not parts:
        raise NotFound(
            "Nothing can be given back.",
            now="Nothing was requested.",
            todo="Look at the plan: it names what changed and is left as it is.",
        )
    with transaction.atomic():
        return plan, [transfer for part in parts for transfer in _request(actor, request, part)]


def _request(actor: Actor, request: RollbackRequest, part: Part) -> list[Transfer]:
    fingerprints = {request.provider.pk: part.plan.fingerprint} if request.fingerprint else {}
    return request_transfer(actor, replace(part.request, fingerprints=fingerprints))
