"""Who may declare endpoints for a loop, plan it, and have it run: who may request transfers of its owner.

Before a run begins nobody knows which names it will change, so it may be asked for by whoever reaches one of
the names it keeps; the run itself then asks for every name that it is about to change.
"""

from collections.abc import Collection

from django.db.models import Q

from registry_app.actor import Actor
from registry_app.models import DeclaredEndpoint, Grant, Owner, Provider, RecordSet, RegistryProfile
from registry_app.queries.access import (
    fetch_reach,
    find_names_out_of_reach,
    may_act,
    may_act_everywhere,
)
from registry_app.queries.instance import list_instances_at
from registry_app.queries.name_range import build_suffix_query

_REQUEST = Grant.Action.REQUEST


def may_declare(actor: Actor, provider: Provider, owner: Owner, names: Collection[str]) -> bool:
    """Whether the actor may declare endpoints under every one of these names; no for no names."""
    if not actor.has_scope("apply"):
        return False
    return may_act(actor, _REQUEST, provider=provider, owner=owner, names=names)


def may_declare_everything(actor: Actor, provider: Provider, owner: Owner) -> bool:
    """Whether the actor may say what the loop is to keep under any name."""
    if not actor.has_scope("apply"):
        return False
    return may_act_everywhere(actor, _REQUEST, provider=provider, owner=owner)


def may_declare_somewhere(actor: Actor, provider: Provider, owner: Owner) -> bool:
    """Whether there is a name under which the actor may declare an endpoint: for what pages offer."""
    return actor.has_scope("apply") and bool(fetch_reach(actor, _REQUEST, provider=provider, owner=owner))


def may_plan_loop(actor: Actor, provider: Provider, owner: Owner) -> bool:
    """Whether the actor may have the provider read for what a run would do now: who reaches a name that the
    loop keeps."""
    for side in _sides_of(owner, provider):
        reach = fetch_reach(actor, _REQUEST, provider=provider, owner=side)
        if not reach or not ("" in reach or _is_any_kept_below(reach, provider, owner)):
            return False
    return True


def may_ask_for_run(actor: Actor, provider: Provider, owner: Owner) -> bool:
    """Whether the actor may have the loop run now. The run asks
    `find_names_beyond_rights` of all it changes."""
    return actor.has_scope("apply") and may_plan_loop(actor, provider, owner)


def find_names_beyond_rights(
    actor: Actor, provider: Provider, owner: Owner, names: Collection[str]
) -> list[str]:
    """Those of the names that the actor may not have a run change, in order."""
    denied: set[str] = set()
    for side in _sides_of(owner, provider):
        denied.update(find_names_out_of_reach(actor, _REQUEST, provider=provider, owner=side, names=names))
    return sorted(denied)


def _sides_of(owner: Owner, provider: Provider) -> tuple[Owner | None, ...]:
    """Without ownership (noop) a run changes whatever stands in reach, so nobody's record sets, too."""
    profiles = [row.registry_profile for row in list_instances_at(owner, provider)]
    is_blind = any(profile and profile.kind == RegistryProfile.Kind.NOOP for profile in profiles)
    return (owner, None) if is_blind else (owner,)


def _is_any_kept_below(suffixes: Collection[str], provider: Provider, owner: Owner) -> bool:
    declared, standing = Q(), Q()
    for suffix in suffixes:
        declared |= Q(name=suffix) | Q(name__endswith=f".{suffix}")
        standing |= build_suffix_query(suffix)
    if DeclaredEndpoint.objects.filter(declared, loop__owner=owner, loop__provider=provider).exists():
        return True
    return RecordSet.objects.filter(
        standing, owner=owner, provider=provider, missing_since__isnull=True
    ).exists()
