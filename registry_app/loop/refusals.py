"""Why a loop is not run, or its plan not sent: settings, stops, rights, another person to confirm."""

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
from registry_app.loop.loop_request import LoopRequest
from registry_app.loop.plan_loop import LoopPlan, list_keys
from registry_app.loop.send_batch import list_rows_to_tidy
from registry_app.mirror.owner_registry import describe_disagreement, is_read_at, list_registry_profiles
from registry_app.models import LoopConfirmation, LoopRun, Owner, Provider
from registry_app.queries.actor import fetch_account_makers, fetch_person
from registry_app.queries.freeze import find_owner_stops
from registry_app.queries.instance import find_cluster_instance, list_instances_at
from registry_app.queries.loop import find_names_beyond_rights

_GOOD_FOR = timedelta(hours=24)


def raise_if_unplannable(request: LoopRequest) -> None:
    """Raise RefusedBySafety where not even a plan can be made. `request` holds the rows as they are now."""
    for refusal in (_find_owner_refusal(request), _find_provider_refusal(request.provider)):
        if refusal is not None:
            raise refusal


def find_sending_refusals(request: LoopRequest) -> list[RefusedBySafety]:
    """Why the plan may be shown, and not sent: somebody else's instance, a freeze, a restore."""
    found: list[RefusedBySafety] = []
    instance = find_cluster_instance(request.owner, request.provider)
    if instance is not None:
        found.append(
            RefusedBySafety(
                f"{request.owner.owner_id} runs in the cluster {instance.cluster}: its own instance "
                "there and dnsadmin would undo each other's changes.",
                now="Nothing was sent.",
                todo="Use an owner id that no other instance uses, or delete the instance in that cluster "
                "once it no longer runs.",
                code="owner_runs_in_a_cluster",
            )
        )
    return [*found, *find_stop_refusals(request.provider, request.owner.owner_id)]


def find_stop_refusals(provider: Provider, owner_id: str) -> list[RefusedBySafety]:
    """One for each reason why nothing of the owner may be sent to the provider at this moment. Names that are
    frozen are left alone by the plan."""
    return [
        RefusedBySafety(stop.happened, now="Nothing more is sent.", todo=stop.todo, code=stop.code)
        for stop in find_owner_stops(provider, owner_id)
    ]


def _find_owner_refusal(request: LoopRequest) -> RefusedBySafety | None:
    owner, provider = request.owner, request.provider
    if owner.status != Owner.Status.REGISTERED:
        return RefusedBySafety(
            f"{owner.owner_id} is not registered.",
            todo="Register the owner first.",
            code="owner_not_registered",
        )
    disagreement = describe_disagreement(owner, provider, list_instances_at(owner, provider))
    if disagreement:
        return RefusedBySafety(
            disagreement, todo="Give them the same registry profile.", code="instances_disagree"
        )
    for profile in list_registry_profiles(owner, provider):
        if not is_read_at(profile, provider):
            return RefusedBySafety(
                f"{owner.owner_id} uses the registry profile {profile.name}, "
                f"which {provider.name} does not have.",
                todo=f"Its claims could not be read: add {provider.name} to the profile's providers.",
                code="profile_not_here",
            )
    return None


def _find_provider_refusal(provider: Provider) -> RefusedBySafety | None:
    if not provider.is_enabled:
        return RefusedBySafety(
            f"{provider.name} is switched off.", todo="Turn on its sync first.", code="provider_disabled"
        )
    if provider.status == Provider.Status.HELD:
        return RefusedBySafety(
            f"A snapshot of {provider.name} is implausible and held for review.",
            todo="Look at the held snapshot and accept or reject it first.",
            code="snapshot_held",
        )
    if provider.accepted_at is None:
        return RefusedBySafety(
            f"{provider.name} was not synced yet, so its response cannot be checked.",
            todo="Sync it first.",
            code="not_visited",
        )
    return None


def find_rights_refusals(request: LoopRequest, plan: LoopPlan) -> list[RefusedBySafety]:
    """One if the plan changes a name to which the requester has no right."""
    actor = request.on_behalf_of
    if actor is None:
        return []
    names = {key.name for key in list_keys(plan.changes)}
    names |= {row.record.dns_name for row in list_rows_to_tidy(plan)}
    denied = find_names_beyond_rights(actor, request.provider, request.owner, names)
    if not denied:
        return []
    more = f" and {len(denied) - 1} more" if len(denied) > 1 else ""
    return [
        RefusedBySafety(
            f"{actor.name or 'Nobody'} requested this run and may not change {denied[0]}{more}.",
            now="Nothing was sent.",
            todo="Ask somebody who may change all of it, or wait for the scheduled run.",
            code="not_allowed",
        )
    ]


def raise_if_other_person_is_missing(request: LoopRequest, run: LoopRun, plan: LoopPlan) -> None:
    """Raise RefusedBySafety unless another person confirmed this very plan within a day.

    A first confirmation is stored for the run that the other person requests; it is for one run."""
    # A loop has one side only: both sides agree where two people do.
    if request.provider.approval_policy == Provider.ApprovalPolicy.NONE:
        return
    actor, user_id, answerer_id = _find_confirming(request)
    digest = _compute_plan_digest(plan.changes)
    rows = LoopConfirmation.objects.filter(owner=request.owner, provider=request.provider)
    first = rows.first()
    with transaction.atomic():
        if first is not None and _is_other_person(actor, first, digest, request, plan):
            rows.filter(pk=first.pk).delete()
            record_audit(actor, "loop_run.confirmed_by_second", run, after={"first": first.name})
            return
        rows.delete()
        rows.create(
            owner=request.owner,
            provider=request.provider,
            user_id=user_id,
            issuer_id=answerer_id,
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


def _find_confirming(request: LoopRequest) -> tuple[Actor, int, int]:
    """Who confirms, their user, and who answers for that. Raises RefusedBySafety where it is not known."""
    actor = request.on_behalf_of
    if actor is None or not actor.people or actor.user_id is None or actor.answerer_id is None:
        raise RefusedBySafety(
            f"{request.provider.name} requires two people, and it is not known who confirms.",
            now="Nothing was sent.",
            todo="Log in to confirm it, or add --as on the command line.",
            code="other_person_needed",
        )
    return actor, actor.user_id, actor.answerer_id


def _compute_plan_digest(changes: PlannedChanges) -> str:
    """A digest of exactly what is created, updated and deleted: two plans with the same counts differ."""
    values = [
        sorted((*endpoint_key(each), each.targets, each.record_ttl) for each in changes.creates),
        sorted(
            (*each.current.key, each.current.endpoint.targets, each.wanted.targets, each.wanted.record_ttl)
            for each in changes.updates
        ),
        sorted((*each.key, each.endpoint.targets) for each in changes.deletes),
    ]
    return hashlib.sha256(msgspec.json.encode(values)).hexdigest()


def _is_other_person(
    actor: Actor, first: LoopConfirmation, digest: str, request: LoopRequest, plan: LoopPlan
) -> bool:
    """Whether `first` is the confirmation of this plan by another person who still may confirm it."""
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
