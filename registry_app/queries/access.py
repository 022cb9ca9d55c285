"""Who may do what. Interfaces and mutations ask these.

A check without names, owner or provider refuses (I22). For a whole provider there are `may_act_everywhere`
and `may_operate`; an empty list of names never means all names."""

from collections.abc import Iterable

from django.contrib.auth.models import Group
from django.db.models import Q

from registry_app.actor import Actor
from registry_app.models import Finding, Grant, Owner, Provider

_SCOPE_OF_ACTION = {
    Grant.Action.REQUEST: "plan",
    Grant.Action.APPROVE: "approve",
    Grant.Action.OPERATE: "admin",
}
_EVERYTHING = ""
_BETWEEN_OWNERS = (Finding.Kind.CONFLICT, Finding.Kind.SPLIT_OWNER)


def may_read(actor: Actor) -> bool:
    """Whether the actor may see the mirror, findings and transfers, as every known person may."""
    return actor.has_scope("read") and (actor.is_superuser or actor.user_id is not None)


def may_act(
    actor: Actor, action: Grant.Action, *, provider: Provider, owner: Owner | None, names: Iterable[str]
) -> bool:
    """Whether the actor's grants cover `action` on every one of `names` at `provider`; no for no names.

    `owner` is the owner on the side asked about; None (an unmanaged record set, an orphan) is covered
    only by a grant that is not narrowed to an owner.
    """
    suffixes = fetch_reach(actor, action, provider=provider, owner=owner)
    if not suffixes:
        return False  # the names, perhaps of a query, need not be read
    asked = set(names)
    return bool(asked) and all(_is_below_any(name, suffixes) for name in asked)


def find_names_out_of_reach(
    actor: Actor, action: Grant.Action, *, provider: Provider, owner: Owner | None, names: Iterable[str]
) -> list[str]:
    """Those of `names` at which the actor may not do `action`, in order."""
    suffixes = fetch_reach(actor, action, provider=provider, owner=owner)
    return sorted(name for name in set(names) if not _is_below_any(name, suffixes))


def may_act_everywhere(
    actor: Actor, action: Grant.Action, *, provider: Provider, owner: Owner | None
) -> bool:
    """Whether the actor may do `action` under every name of `owner` at `provider`; None: of all owners.

    Only a grant without a name suffix allows this; for all owners, only one without an owner, too.
    """
    return _EVERYTHING in fetch_reach(actor, action, provider=provider, owner=owner)


def fetch_reach(
    actor: Actor, action: Grant.Action, *, provider: Provider, owner: Owner | None
) -> frozenset[str]:
    """The name suffixes under which the actor may do `action` with what `owner` has at `provider`.

    An empty suffix is every name; an empty set is none.
    """
    if not _is_within_bounds(actor, action, provider, owner):
        return frozenset()
    if actor.is_superuser:
        return frozenset({_EVERYTHING})
    return frozenset(
        Grant.objects.filter(Q(provider=None) | Q(provider=provider))
        .filter(Q(owner=None) | Q(owner=owner) if owner else Q(owner=None))
        .filter(action=action, group__in=_groups_of(actor))
        .values_list("name_suffix", flat=True)
    )


def may_act_somewhere(actor: Actor, action: Grant.Action) -> bool:
    """Whether the actor may do `action` anywhere at all: for what pages offer. `may_act` decides."""
    if not actor.has_scope(_SCOPE_OF_ACTION[action]):
        return False
    return actor.is_superuser or Grant.objects.filter(action=action, group__in=_groups_of(actor)).exists()


def may_operate(actor: Actor, provider: Provider) -> bool:
    """Whether the actor may sync and freeze all of `provider`, and decide on its held snapshots."""
    return may_act_everywhere(actor, Grant.Action.OPERATE, provider=provider, owner=None)


def may_acknowledge(actor: Actor, finding: Finding) -> bool:
    """Whether the actor may operate everything that `finding` is about: its name, or all of its owner or
    provider. A finding between two owners is about both."""
    if finding.provider is None:
        return may_administer(actor)
    owner = None if finding.kind in _BETWEEN_OWNERS else finding.owner
    if not finding.name:
        return may_act_everywhere(actor, Grant.Action.OPERATE, provider=finding.provider, owner=owner)
    return may_act(actor, Grant.Action.OPERATE, provider=finding.provider, owner=owner, names=[finding.name])


def may_administer(actor: Actor) -> bool:
    """Whether the actor may change providers, profiles, owners, grants, and freeze everything.

    A token that is narrowed to owners or providers may not, because configuration affects others.
    """
    is_narrowed = actor.owner_ids is not None or actor.provider_ids is not None
    return actor.is_superuser and actor.has_scope("admin") and not is_narrowed


def _is_within_bounds(actor: Actor, action: Grant.Action, provider: Provider, owner: Owner | None) -> bool:
    if not actor.has_scope(_SCOPE_OF_ACTION[action]):
        return False
    if actor.provider_ids is not None and provider.pk not in actor.provider_ids:
        return False
    return actor.owner_ids is None or (owner is not None and owner.owner_id in actor.owner_ids)


def _groups_of(actor: Actor) -> list[int]:
    if actor.user_id is None:
        return []
    return list(Group.objects.filter(user=actor.user_id, user__is_active=True).values_list("pk", flat=True))


def _is_below_any(name: str, suffixes: Iterable[str]) -> bool:
    return any(not suffix or name == suffix or name.endswith("." + suffix) for suffix in suffixes)
