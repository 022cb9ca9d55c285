"""Why a plan is refused, what it warns of, and the text to type where the next sync may delete."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from providers.stores.registry_catalogue import REGISTRIES
from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.mirror.owner_registry import describe_disagreement, is_read_at, list_registry_profiles
from registry_app.models import Grant, Owner, Provider, Transfer, TransferItem
from registry_app.queries.freeze import find_item_stops
from registry_app.queries.instance import list_instances_at
from registry_app.queries.sides import build_taking, find_denied_on_both, find_denied_side
from registry_app.transfer.plan.frozen import list_planned_sides
from registry_app.transfer.plan.items import HARMLESS_CODES
from registry_app.transfer.plan.provider_plan import PlannedItem, Refusal

_SMALL_PROVIDER = 10
_STALE_AFTER_INTERVALS = 5
_STALE_AFTER_AT_LEAST = timedelta(minutes=15)
_SHOWN = 3
_MOST_NAMED = 5
_KIND = Transfer.Kind
_VERDICT = TransferItem.Verdict
# What the guard keeps it keeps only as long as it is pinned.
_RISKY = (_VERDICT.DELETE, _VERDICT.NOT_REPLACED, _VERDICT.UNKNOWN, _VERDICT.KEPT)


def find_provider_refusals(provider: Provider) -> list[Refusal]:
    """Why the mirror of this provider is not current enough to plan on."""
    if not provider.is_enabled:
        return [
            _refuse(
                "provider_disabled",
                f"{provider.name} is not synced: its sync is off.",
                "Turn on its sync first.",
            )
        ]
    if provider.status == Provider.Status.HELD:
        todo = "Look at the held snapshot and accept or reject it first."
        return [
            _refuse(
                "snapshot_held", f"A snapshot of {provider.name} is implausible and held for review.", todo
            )
        ]
    if provider.status == Provider.Status.FAILING:
        happened = f"The last syncs of {provider.name} failed, so its current record sets are not known."
        return [_refuse("provider_failing", happened, "Wait for a successful sync, or test its connection.")]
    if provider.accepted_at is None:
        return [_refuse("not_visited", f"{provider.name} was not synced yet.", "Wait for its first sync.")]
    allowed = max(
        provider.interval_seconds * _STALE_AFTER_INTERVALS * timedelta(seconds=1), _STALE_AFTER_AT_LEAST
    )
    seen = max(filter(None, (provider.accepted_at, provider.last_sync_at)))
    if fetch_now() - seen > allowed:
        happened = (
            f"The mirror of {provider.name} is of {seen:%Y-%m-%d %H:%M} UTC, which is too old for a plan."
        )
        return [_refuse("mirror_stale", happened, "Sync the provider now, then try again.")]
    return []


def find_stop_warnings(
    provider: Provider, items: Iterable[PlannedItem], target: Owner | None
) -> list[Refusal]:
    """What stops approval and sending, but not a request: a freeze, or a restore."""
    return [
        Refusal(
            stop.code,
            stop.happened,
            now="It can be requested, but it cannot be approved or sent while the freeze lasts.",
            is_warning=True,
        )
        for stop in find_item_stops(provider, lambda: list_planned_sides(items, target))
    ]


def find_registry_warnings(preconditions: Mapping[str, Any]) -> list[Refusal]:
    """What running instances do not notice, for a plan with these preconditions."""
    kinds = {described["kind"] for described in preconditions.get("stores", {}).values()}
    return [
        Refusal(
            "instances_read_once",
            f"ExternalDNS reads {registry.reads_once}: running instances do not notice this transfer.",
            now="Until they are restarted, instances of the former owner may change or delete these "
            "record sets, and instances of the new owner leave them alone.",
            todo="Stop the former owner's instance before this is sent, and restart both afterwards.",
            is_warning=True,
        )
        for kind in sorted(kinds)
        if (registry := REGISTRIES[kind]).reads_once
    ]


def find_target_refusals(target: Owner, provider: Provider) -> list[Refusal]:
    """Why `target` cannot be given anything at this provider."""
    if target.status == Owner.Status.DECOMMISSIONED:
        happened = f"{target.owner_id} is decommissioned: no instance would manage the record sets."
        return [_refuse("target_decommissioned", happened, "Choose another owner.")]
    disagreement = describe_disagreement(target, provider, list_instances_at(target, provider))
    if disagreement:
        todo = "A claim can be written in one way only: give them the same registry profile, or owner ids of "
        return [_refuse("instances_disagree", disagreement, f"{todo}their own.")]
    for profile in list_registry_profiles(target, provider):
        if not profile.registry.keeps_claims:
            happened = f"{target.owner_id} uses the registry {profile.kind}, so no claim can name it."
            todo = "Release the record sets instead: its instance manages every record set that it sees."
            return [_refuse("target_keeps_no_registry", happened, todo)]
        if not is_read_at(profile, provider):
            happened = (
                f"{target.owner_id} uses the registry profile {profile.name}, "
                f"which {provider.name} does not have."
            )
            todo = f"Its claims could not be read back: add {provider.name} to the profile's providers."
            return [_refuse("profile_not_here", happened, todo)]
    return []


def find_item_refusals(
    provider: Provider, items: Sequence[PlannedItem], *, is_explicit: bool
) -> list[Refusal]:
    """What is wrong with the items: selected ones that are unfit, none left, or too many."""
    included = [item for item in items if not item.problem]
    # What was added to a selected name and cannot be transferred stays; then a confirmation must be typed.
    picked = (item for item in items if item.problem and not item.is_added)
    unfit = [item for item in picked if item.problem_code not in HARMLESS_CODES]
    if unfit and (is_explicit or not included):
        return [_refuse_unfit(provider, unfit, len(items))]
    if not included:
        happened = (
            f"There is nothing to do at {provider.name}: everything selected is already as it should be."
        )
        return [_refuse("nothing_to_do", happened, "Select something else.")]
    return _find_threshold_refusals(provider, len(included))


def find_permission_refusals(
    actor: Actor,
    provider: Provider,
    items: Sequence[PlannedItem],
    target: Owner | None,
    kind: str,
    policy: str,
) -> list[Refusal]:
    """Why `actor` may not request this, for each current owner and for the target; where both sides must
    agree, a right on one of them is enough."""
    sides = [(item.source_owner_id, item.name) for item in items if not item.problem]
    if not sides:
        return []  # an empty plan is refused as such, and is never stored
    if policy == Provider.ApprovalPolicy.BOTH_SIDES:
        taking = build_taking(kind, sides, target)
        denied = find_denied_on_both(actor, Grant.Action.REQUEST, provider, sides, taking)
    else:
        denied = find_denied_side(actor, Grant.Action.REQUEST, provider, sides, target)
    if denied is None:
        return []
    happened = f"{actor.name or 'Nobody'} may not request transfers of {denied} at {provider.name}."
    return [_refuse("not_allowed", happened, "Ask an administrator for a grant, or somebody who has one.")]


def compute_most_items(provider: Provider) -> int:
    """How many record sets one transfer may change at a provider, by its limits."""
    known = provider.record_set_count
    if known < _SMALL_PROVIDER:
        return provider.max_transfer_count
    return min(provider.max_transfer_count, known * provider.max_transfer_percent // 100)


def _find_threshold_refusals(provider: Provider, count: int) -> list[Refusal]:
    todo = "Split the request, or have an administrator raise the limit of this provider."
    if count > provider.max_transfer_count:
        happened = (
            f"{count} record sets are more than the {provider.max_transfer_count} that one transfer "
            f"may change at {provider.name}."
        )
        return [_refuse("too_many", happened, todo)]
    known = provider.record_set_count
    if known >= _SMALL_PROVIDER and count * 100 > known * provider.max_transfer_percent:
        happened = (
            f"{count} of {known} record sets are more than the {provider.max_transfer_percent} % that one "
            f"transfer may change at {provider.name}."
        )
        return [_refuse("too_large_a_share", happened, todo)]
    return []


def _refuse_unfit(provider: Provider, unfit: Sequence[PlannedItem], total: int) -> Refusal:
    shown = "; ".join(f"{item.name} {item.record_type}: {item.problem}" for item in unfit[:_SHOWN])
    more = f" (and {len(unfit) - _SHOWN} more)" if len(unfit) > _SHOWN else ""
    happened = f"{len(unfit)} of {total} selected at {provider.name} cannot be part of this. {shown}{more}"
    code = unfit[0].problem_code if len({item.problem_code for item in unfit}) == 1 else "unfit_items"
    return _refuse(code, happened, "Leave them out, or correct the given reasons first.")


def _refuse(code: str, happened: str, todo: str) -> Refusal:
    return Refusal(code, happened, todo=todo)


def find_cache_warnings(preconditions: Mapping[str, Any]) -> list[Refusal]:
    """What instances that cache claims mean for a plan with these preconditions."""
    former: Mapping[str, Mapping[str, int]] = preconditions.get("former owners", {})
    owners: Mapping[str, Mapping[str, Any]] = preconditions.get("owners", {})
    new = {owner_id: facts.get("claim cache", {}) for owner_id, facts in owners.items()}
    found = []
    if named := _name_caches(former):
        found.append(
            Refusal(
                "former_owner_caches_claims",
                f"Instances of the former owner use cached claims (--txt-cache-interval): {named}.",
                now="During that time after this is sent they may still change or delete these record sets.",
                todo="Restart them after this was sent, or keep the sources of these record sets in their "
                "cluster until that time is over.",
                is_warning=True,
            )
        )
    if named := _name_caches(new):
        found.append(
            Refusal(
                "new_owner_caches_claims",
                f"Instances of the new owner use cached claims (--txt-cache-interval): {named}.",
                now="During that time after this is sent they leave these record sets alone.",
                todo="Wait, or restart them after this was sent.",
                is_warning=True,
            )
        )
    return found


def _name_caches(owners: Mapping[str, Mapping[str, int | None]]) -> str:
    named = [
        f"{name} of {owner_id} for up to {seconds} s"
        for owner_id, caches in owners.items()
        for name, seconds in caches.items()
        if seconds
    ]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"{', '.join(named[:_MOST_NAMED])}{more}"


def build_confirmation_text(
    kind: str, items: Sequence[PlannedItem], target_owner_id: str, *, left_behind: int = 0
) -> str:
    """The exact text to type for all items of a request, of all its providers; empty if none is needed.

    `left_behind` is how many record sets stay with their owner while other types at their name are
    transferred.
    """
    if not left_behind and not any(item.verdict in _RISKY or item.settles_conflict for item in items):
        return ""
    text = _describe_act(kind, len(items), target_owner_id)
    return f"{text} and leave {left_behind} behind" if left_behind else text


def _describe_act(kind: str, count: int, target_owner_id: str) -> str:
    what = "1 record set" if count == 1 else f"{count} record sets"
    if kind == _KIND.TRANSFER:
        return f"transfer {what} to {target_owner_id}"
    if kind == _KIND.ADOPT:
        return f"adopt {what} for {target_owner_id}"
    return f"{Transfer.Kind(kind).value.replace('_', ' ')} {what}"


def is_confirmed(wanted: str, typed: str) -> bool:
    """Whether what was typed is the text, but for white space at its ends and doubled inside."""
    return not wanted or " ".join(typed.split()) == wanted
