"""The plan of a request at one provider, from the mirror's rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from providers.registries.claim import TxtProfile
from providers.wire.endpoint import EndpointKey
from registry_app.actor import Actor
from registry_app.errors import SecretUnavailable
from registry_app.mirror.domain_filter import NegotiatedFilter, read_known_filter
from registry_app.mirror.owner_registry import OwnerRegistry, fetch_owner_registry
from registry_app.mirror.registries import fetch_txt_profiles
from registry_app.models import Owner, Provider, Transfer
from registry_app.queries.approval_policy import pick_strictest
from registry_app.queries.desired_set import fetch_desired_facts
from registry_app.queries.instance import WITH_PROFILES, fetch_instances
from registry_app.queries.kept_by_guard import fetch_kept_by_guard
from registry_app.queries.loop import fetch_declared_set
from registry_app.transfer.plan.claim_key import ClaimKey, build_txt_key, claim_key_of
from registry_app.transfer.plan.items import build_clean_up_items, build_item, build_left_behind_item
from registry_app.transfer.plan.neighbours import (
    add_neighbour_verdicts,
    find_siblings,
    leave_out_locked,
    leave_out_shared,
)
from registry_app.transfer.plan.plan_context import PlanContext
from registry_app.transfer.plan.preconditions import Preconditions, add_desired, build_preconditions
from registry_app.transfer.plan.provider_plan import (
    PlanHead,
    PlannedItem,
    ProviderPlan,
    Refusal,
    assign_batches,
    changes_of,
    compute_fingerprint,
    find_stores_of_items,
)
from registry_app.transfer.plan.refusals import (
    find_cache_warnings,
    find_item_refusals,
    find_permission_refusals,
    find_provider_refusals,
    find_registry_warnings,
    find_stop_warnings,
    find_target_refusals,
)
from registry_app.transfer.plan.subjects import (
    Loaded,
    load_claims,
    load_selected,
    load_shown,
    load_shown_elsewhere,
    load_txt_record_sets,
)
from registry_app.transfer.plan.transfer_request import TransferRequest, find_claims, find_record_sets
from registry_app.transfer.plan.verdicts import (
    FormerOwners,
    InstanceVerdicts,
    compute_verdict_without_change,
)
from registry_app.transfer.plan.verdicts_by_facts import Verdict

_KIND = Transfer.Kind
# The record sets have an owner before, and another or none afterwards.
_KINDS_THAT_TAKE = (_KIND.TRANSFER, _KIND.RELEASE)


@dataclass(frozen=True)
class PlanRequest:
    """A request as far as it concerns one provider."""

    actor: Actor
    request: TransferRequest
    provider: Provider
    target: Owner | None

    @property
    def approval_policy(self) -> str:
        """Who must approve it."""
        return pick_strictest(self.provider.approval_policy, self.request.least_policy)


def build_provider_plan(asked: PlanRequest) -> ProviderPlan:
    """Items, fingerprint and refusals; the confirmation text, for all providers together, comes later."""
    refusals: list[Refusal] = []
    items: tuple[PlannedItem, ...] = ()
    preconditions: Preconditions = {}
    try:
        items = _build_items(asked)
        preconditions = _build_preconditions(asked, items)
    except SecretUnavailable as error:
        refusals.append(Refusal(error.code, error.happened, error.now, error.todo))
    items = leave_out_locked(asked.provider, items)
    items = assign_batches(items, asked.provider.effective_batch_size)
    preconditions = add_desired(preconditions, asked.provider, asked.target, items)
    refusals += find_provider_refusals(asked.provider)
    if asked.target is not None:
        refusals += find_target_refusals(asked.target, asked.provider)
    if items:
        explicit = asked.request.selection.is_explicit
        refusals += find_item_refusals(asked.provider, items, is_explicit=explicit)
        refusals += find_permission_refusals(
            asked.actor, asked.provider, items, asked.target, asked.request.kind, asked.approval_policy
        )
    return build_plan_value(
        provider=asked.provider,
        kind=asked.request.kind,
        items=items,
        source=_find_source([item for item in items if not item.problem], asked.target),
        target=asked.target,
        intent=asked.request.target_intent,
        preconditions=preconditions,
        refusals=tuple(refusals),
        approval_policy=asked.approval_policy,
    )


def build_plan_value(
    *,
    provider: Provider,
    kind: str,
    items: tuple[PlannedItem, ...],
    source: Owner | None,
    target: Owner | None,
    intent: str,
    preconditions: Preconditions,
    refusals: tuple[Refusal, ...],
    approval_policy: str,
    confirmation_text: str = "",
) -> ProviderPlan:
    """The plan with its fingerprint and its warnings."""
    head = PlanHead(
        kind=kind,
        provider_id=provider.pk,
        source_owner_id=source.owner_id if source else "",
        target_owner_id=target.owner_id if target else "",
        target_intent=intent,
        preconditions=preconditions,
    )
    return ProviderPlan(
        provider=provider,
        items=items,
        fingerprint=compute_fingerprint(head, [item for item in items if not item.problem]),
        refusals=refusals,
        approval_policy=approval_policy,
        confirmation_text=confirmation_text,
        source_owner=source,
        target_owner=target,
        preconditions=preconditions,
        warnings=(
            *find_stop_warnings(provider, items, target),
            *find_registry_warnings(preconditions),
            *find_cache_warnings(preconditions),
        ),
    )


def _build_items(asked: PlanRequest) -> tuple[PlannedItem, ...]:
    provider, selection = asked.provider, asked.request.selection
    if asked.request.kind == _KIND.CLEAN_UP:
        claims = load_claims(find_claims(selection).filter(provider=provider))
        # Other claims at the same places stay.
        registered = Owner.objects.filter(status=Owner.Status.REGISTERED).values_list("owner_id", flat=True)
        contents = load_shown(provider, sorted({claim.record_name for claim in claims}))
        elsewhere = load_shown_elsewhere(provider, claims)
        known = read_known_filter(provider.domain_filter) or NegotiatedFilter()
        return build_clean_up_items(claims, contents, frozenset(registered), elsewhere, known.matches)
    loaded = load_selected(provider, find_record_sets(selection))
    siblings: set[EndpointKey] = set()
    if asked.request.kind == _KIND.TRANSFER and asked.target is not None:
        siblings = find_siblings(loaded.selected, loaded.neighbours, asked.target.owner_id)
    context = _build_context(asked, loaded)
    items = _build_items_of(loaded, siblings, context, whole_names=asked.request.whole_names)
    taken = _find_taken(provider, items)
    if taken:
        context = replace(context, taken=taken)
        items = _build_items_of(loaded, siblings, context, whole_names=asked.request.whole_names)
    instances = context.instances
    return add_neighbour_verdicts(
        leave_out_shared(items, loaded.neighbours),
        [each.record for each in loaded.neighbours],
        lambda item: instances.build_new_owner(item.key) if instances else None,
    )


def _build_items_of(
    loaded: Loaded, siblings: set[EndpointKey], context: PlanContext, *, whole_names: bool
) -> list[PlannedItem]:
    """Items for what was selected and for the other types at the same names, in the order of their names."""
    if not siblings:
        return [build_item(subject, context) for subject in loaded.selected]
    picked = {subject.record.key for subject in loaded.selected}
    items: list[PlannedItem] = []
    for subject in loaded.neighbours:
        if subject.record.key in picked:
            items.append(build_item(subject, context))
        elif subject.record.key in siblings:
            added = replace(build_item(subject, context), is_added=True)
            items.append(added if whole_names else build_left_behind_item(subject))
    return items


def _build_preconditions(asked: PlanRequest, items: Sequence[PlannedItem]) -> Preconditions:
    owners = [asked.target] if asked.target is not None else []
    if asked.request.kind == _KIND.REFORMAT:
        owner_ids = {item.source_owner_id for item in items if not item.problem}
        owners = list(Owner.objects.prefetch_related(WITH_PROFILES).filter(owner_id__in=owner_ids))
    former: set[str] = set()
    if asked.request.kind in _KINDS_THAT_TAKE:
        included = (item for item in items if not item.problem)
        former = {owner_id for item in included for owner_id in item.source_owner_id.split(",")}
    kept = {owner.owner_id for owner in owners} | {""}
    stores = find_stores_of_items(items)
    return build_preconditions(asked.provider, asked.request.kind, owners, stores, sorted(former - kept))


def _build_context(asked: PlanRequest, loaded: Loaded) -> PlanContext:
    profiles = fetch_txt_profiles(asked.provider)
    return PlanContext(
        kind=asked.request.kind,
        owner_id=asked.target.owner_id if asked.target else "",
        verdict=_compute_verdict_without_target(asked),
        registries=_fetch_registries(asked, loaded, profiles),
        profiles={profile.reference: profile for profile in profiles},
        contents=loaded.contents,
        instances=_build_instance_verdicts(asked, asked.target, loaded) if asked.target else None,
        former=_find_former_owners(asked, loaded),
    )


def _find_taken(provider: Provider, items: Sequence[PlannedItem]) -> frozenset[ClaimKey]:
    """Where a foreign TXT record has the place of a claim that would be new."""
    created = {
        key.name
        for item in items
        for key in changes_of(item).keys() - {claim_key_of(endpoint) for endpoint in item.before}
        if not key.store
    }
    rows = load_txt_record_sets(provider, created)
    return frozenset(build_txt_key(row.name, row.set_identifier) for row in rows)


def _fetch_registries(
    asked: PlanRequest, loaded: Loaded, profiles: Sequence[TxtProfile]
) -> Mapping[str, OwnerRegistry]:
    owner_ids: set[str] = set()
    if asked.target is not None:
        owner_ids = {subject.record.label_owner for subject in loaded.selected} | {asked.target.owner_id}
    elif asked.request.kind == _KIND.REFORMAT:
        owner_ids = {owner_id for subject in loaded.selected for owner_id in subject.owner_ids}
    if not owner_ids:
        return {}
    owners = Owner.objects.filter(owner_id__in=owner_ids).prefetch_related(WITH_PROFILES)
    return {owner.owner_id: fetch_owner_registry(owner, asked.provider, profiles) for owner in owners}


def _build_instance_verdicts(asked: PlanRequest, target: Owner, loaded: Loaded) -> InstanceVerdicts:
    names = {subject.record.key.name for subject in loaded.selected}
    return InstanceVerdicts(
        target.owner_id,
        fetch_instances([target.owner_id]).get(target.owner_id, ()),
        asked.provider.pk,
        intent=asked.request.target_intent,
        stated_by=asked.actor.name or "The requester",
        declared=fetch_declared_set(target, asked.provider),
        desired=fetch_desired_facts(target.owner_id, asked.provider.pk, names),
        kept=fetch_kept_by_guard(target.owner_id, asked.provider),
    )


def _find_former_owners(asked: PlanRequest, loaded: Loaded) -> FormerOwners | None:
    if asked.request.kind not in _KINDS_THAT_TAKE:
        return None
    owner_ids = {owner_id for subject in loaded.neighbours for owner_id in subject.owner_ids}
    return FormerOwners(fetch_instances(owner_ids), asked.provider.pk)


def _compute_verdict_without_target(asked: PlanRequest) -> Verdict:
    if asked.request.kind == _KIND.RELEASE:
        return compute_verdict_without_change(
            "It has no owner afterwards: no instance changes or deletes it any more."
        )
    return compute_verdict_without_change("It keeps its owner.")


def _find_source(items: Sequence[PlannedItem], target: Owner | None) -> Owner | None:
    owner_ids = {item.source_owner_id for item in items}
    if len(owner_ids) != 1:
        return None
    source = Owner.objects.filter(owner_id=owner_ids.pop()).first()
    return None if source is None or source == target else source
