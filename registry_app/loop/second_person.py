"""A large run at a provider that asks for another person's approval needs the word of two people."""

import hashlib
from datetime import timedelta

import msgspec
from django.db import transaction

from providers.planning.planned_changes import PlannedChanges
from providers.wire.canonical_name import endpoint_key
from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import RefusedBySafety
from registry_app.loop.batches import list_keys
from registry_app.loop.loop_request import LoopRequest
from registry_app.loop.plan_loop import LoopPlan
from registry_app.models import LoopConfirmation, LoopRun, Provider
from registry_app.queries.loop_access import find_names_beyond_rights
from registry_app.queries.people import fetch_account_makers, fetch_person

_GOOD_FOR = timedelta(hours=24)


def raise_if_second_person_is_missing(request: LoopRequest, run: LoopRun, plan: LoopPlan) -> None:
    """Raise RefusedBySafety unless another person confirmed this very plan within a day.

    The first person's word is kept for the run that a second one asks for; it is good for one run.
    """
    if request.provider.approval_policy != Provider.ApprovalPolicy.OTHER_PERSON:
        return
    actor = request.on_behalf_of
    if actor is None or not actor.people or actor.user_id is None or actor.answerer_id is None:
        raise RefusedBySafety(
            f"{request.provider.name} requires two people, and it is not known who confirms.",
            now="Nothing was sent.",
            todo="Log in to confirm it, or add --as on the command line.",
            code="other_person_needed",
        )
    digest = compute_plan_digest(plan.changes)
    rows = LoopConfirmation.objects.filter(owner=request.owner, provider=request.provider)
    first = rows.first()
    with transaction.atomic():
        if first is not None and _is_second(actor, first, digest, request, plan):
            rows.filter(pk=first.pk).delete()
            record_audit(actor, "loop_run.confirmed_by_second", run, after={"first": first.name})
            return
        rows.delete()
        LoopConfirmation.objects.create(
            owner=request.owner,
            provider=request.provider,
            user_id=actor.user_id,
            issuer_id=actor.answerer_id,
            name=actor.name[:200],
            plan_digest=digest,
            confirmed_at=fetch_now(),
        )
        record_audit(actor, "loop_run.confirmed_by_first", run, after={"text": plan.confirmation_text})
    raise RefusedBySafety(
        f"{actor.name} confirmed this plan. {request.provider.name} requires the confirmation of "
        "another person too.",
        now="Nothing was sent.",
        todo=f"Within 24 hours, another person who may change all of it types: {plan.confirmation_text}",
        code="other_person_needed",
    )


def compute_plan_digest(changes: PlannedChanges) -> str:
    """Of what exactly is created, updated and deleted: two plans with the same counts differ."""
    told = [
        sorted((*endpoint_key(each), each.targets, each.record_ttl) for each in changes.creates),
        sorted(
            (*each.current.key, each.current.endpoint.targets, each.wanted.targets, each.wanted.record_ttl)
            for each in changes.updates
        ),
        sorted((*each.key, each.endpoint.targets) for each in changes.deletes),
    ]
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()


def _is_second(
    actor: Actor, first: LoopConfirmation, digest: str, request: LoopRequest, plan: LoopPlan
) -> bool:
    """Whether `first` is somebody else's word for this plan, and they may still give it."""
    people = frozenset({first.user_id, first.issuer_id})
    if first.plan_digest != digest or first.confirmed_at < fetch_now() - _GOOD_FOR:
        return False
    if people & actor.people:
        return False
    if fetch_account_makers(people) & actor.people or fetch_account_makers(actor.people) & people:
        return False
    names = {key.name for key in list_keys(plan.changes)}
    person = fetch_person(first.user_id, first.name)
    return not find_names_beyond_rights(person, request.provider, request.owner, names)
