"""Who may do what. Doors and mutations ask these; a check that names nobody says no."""

from collections.abc import Iterable

from django.contrib.auth.models import Group
from django.db.models import Q

from registry_app.actor import Actor
from registry_app.models import Grant, Owner, Provider

_SCOPE_OF_ACTION = {
    Grant.Action.REQUEST: "plan",
    Grant.Action.APPROVE: "approve",
    Grant.Action.OPERATE: "admin",
}


def may_read(actor: Actor) -> bool:
    """Whether the actor sees the mirror, findings and transfers: every known person does."""
    return actor.has_scope("read") and (actor.is_superuser or actor.user_id is not None)


def may_act(
    actor: Actor,
    action: Grant.Action,
    *,
    provider: Provider,
    owner: Owner | None,
    names: Iterable[str],
) -> bool:
    """Whether one of the actor's grants covers `action` on every one of `names` at `provider`.

    `owner` is the owner on the side asked about; None (an unmanaged record set, an orphan) is covered
    only by a grant that is not narrowed to an owner.
    """
    if not _is_within_bounds(actor, action, provider, owner):
        return False
    if actor.is_superuser:
        return True
    suffixes = list(
        Grant.objects.filter(Q(provider=None) | Q(provider=provider))
        .filter(Q(owner=None) | Q(owner=owner) if owner else Q(owner=None))
        .filter(action=action, group__in=_groups_of(actor))
        .values_list("name_suffix", flat=True)
    )
    return bool(suffixes) and all(_is_below_any(name, suffixes) for name in names)


def may_act_somewhere(actor: Actor, action: Grant.Action) -> bool:
    """Whether anything at all may be done by the actor that `action` names: for what doors offer. What is
    allowed, `may_act` says."""
    if not actor.has_scope(_SCOPE_OF_ACTION[action]):
        return False
    return actor.is_superuser or Grant.objects.filter(action=action, group__in=_groups_of(actor)).exists()


def may_operate(actor: Actor, provider: Provider) -> bool:
    """Whether the actor may visit, freeze, and decide on held snapshots and findings of `provider`."""
    return may_act(actor, Grant.Action.OPERATE, provider=provider, owner=None, names=())


def may_administer(actor: Actor) -> bool:
    """Whether the actor may change providers, profiles, owners, grants, and freeze everything.

    A token that is narrowed to owners or providers never may: configuration reaches beyond any of them.
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


def _is_below_any(name: str, suffixes: list[str]) -> bool:
    return any(not suffix or name == suffix or name.endswith("." + suffix) for suffix in suffixes)
