"""Who may request, approve and decide on a transfer: both sides of every record set are asked."""

from collections import defaultdict
from collections.abc import Iterable

from registry_app.actor import Actor
from registry_app.models import Grant, Owner, Provider, Transfer
from registry_app.queries.access import may_act


def find_denied_side(
    actor: Actor,
    action: Grant.Action,
    provider: Provider,
    sides: Iterable[tuple[str, str]],
    target_owner: Owner | None,
) -> str | None:
    """Words for the first side on which `actor` lacks `action`; None if none is lacking.

    `sides` are (owner ids as they are now, comma between two, or empty; record name) of every item; without
    any of them nothing is allowed. A release, re-format or clean-up has no target side.
    """
    names_of: dict[str, set[str]] = defaultdict(set)
    all_names: set[str] = set()
    for owner_ids, name in sides:
        all_names.add(name)
        for owner_id in owner_ids.split(","):
            names_of[owner_id].add(name)
    if not names_of:
        return "no record sets at all"
    owners = {owner.owner_id: owner for owner in Owner.objects.filter(owner_id__in=list(names_of))}
    for owner_id, names in sorted(names_of.items()):
        if not may_act(actor, action, provider=provider, owner=owners.get(owner_id), names=names):
            return f"record sets of {owner_id}" if owner_id else "record sets that nobody owns"
    if target_owner and not may_act(actor, action, provider=provider, owner=target_owner, names=all_names):
        return f"record sets to {target_owner.owner_id}"
    return None


def may_act_on_transfer(actor: Actor, action: Grant.Action, transfer: Transfer) -> bool:
    """Whether `actor` has `action` over both sides of every item of a stored transfer."""
    sides = transfer.items.values_list("owner_before", "name").order_by()
    denied = find_denied_side(actor, action, transfer.provider, sides, transfer.target_owner)
    return denied is None


def may_cancel(actor: Actor, transfer: Transfer) -> bool:
    """Who requested it may, a token only if it plans and is not narrowed; and who could have requested it."""
    is_requester = actor.user_id is not None and actor.user_id == transfer.requested_by_id
    is_narrowed = actor.owner_ids is not None or actor.provider_ids is not None
    if is_requester and actor.has_scope("plan") and not is_narrowed:
        return True
    return may_act_on_transfer(actor, Grant.Action.REQUEST, transfer)
