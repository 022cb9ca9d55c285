"""The last guard before a step is stored (I11): nothing but reviewed claims is in it. Pure."""

from collections.abc import Iterable, Mapping

from providers.wire.endpoint import Endpoint
from registry_app.mirror.written import Change
from registry_app.transfer.plan.claim_key import ZONE, ClaimKey
from registry_app.transfer.plan.provider_plan import EndpointDict
from registry_app.transfer.send.item_plan import ItemPlan


def raise_if_touches_more(changes: Mapping[ClaimKey, Change], plans: Iterable[ItemPlan]) -> None:
    """Refuse changes that are not those of the plans.

    Raises ValueError; that it never does is what the tests of everything before it show.
    """
    allowed: dict[ClaimKey, tuple[set[str], bool]] = {}
    for plan in plans:
        for key in plan.changed:
            replaced = set(plan.before.get(key, {}).get("targets", ())) - _kept_targets(plan.after.get(key))
            allowed[key] = (replaced, key in plan.after)
    for key, change in changes.items():
        if key not in allowed:
            raise ValueError(f"The change set touches {key.name}, which is not part of the plan.")
        replaced, stays = allowed[key]
        _raise_if_change_touches_more(key, change, replaced, stays=stays)


def _kept_targets(wanted: EndpointDict | None) -> set[str]:
    """The targets that are to stand as they are: not those that are sealed anew under the same text."""
    if wanted is None:
        return set()
    seals = wanted.get("encrypt", {})
    return {text for place, text in enumerate(wanted["targets"]) if str(place) not in seals}


def _raise_if_change_touches_more(key: ClaimKey, change: Change, replaced: set[str], *, stays: bool) -> None:
    for each in (change.old, change.new):
        if each is not None and key.store == ZONE and each.record_type.upper() != "TXT":
            raise ValueError(f"The change set touches {key.name}, and not as a TXT record.")
    if (change.new is not None) is not stays:
        raise ValueError(f"The change set does not leave {key.name} as reviewed.")
    if change.old is None:
        return
    new_targets = change.new.targets if change.new else ()
    if not set(change.old.targets) - set(new_targets) <= replaced:
        raise ValueError(f"The change set removes more from {key.name} than the reviewed claims.")
    if change.new is not None and _frame(change.old) != _frame(change.new):
        raise ValueError(f"The change set alters {key.name} beyond its targets.")


def _frame(endpoint: Endpoint) -> tuple[object, ...]:
    return (
        endpoint.dns_name,
        endpoint.set_identifier,
        endpoint.record_ttl,
        endpoint.labels,
        endpoint.provider_specific,
    )
