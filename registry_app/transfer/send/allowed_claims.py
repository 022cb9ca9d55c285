"""What a step of a transfer may do: change the reviewed claims, and nothing beside them. Pure."""

from collections.abc import Iterable

from registry_app.transfer.plan.claim_key import ZONE, ClaimKey, EndpointDict
from registry_app.transfer.send.item_plan import ItemPlan
from registry_app.writes.allowed_changes import Allowed


def list_allowed_claims(plans: Iterable[ItemPlan]) -> dict[ClaimKey, Allowed]:
    """What may happen at each place that these plans change."""
    return {
        key: Allowed(
            removable=set(plan.before.get(key, {}).get("targets", ())) - _kept_targets(plan.after.get(key)),
            stays=key in plan.after,
            keeps_rest=True,
            is_text=key.store == ZONE,
        )
        for plan in plans
        for key in plan.changed
    }


def _kept_targets(wanted: EndpointDict | None) -> set[str]:
    """The targets that are to stand as they are: not those that are sealed anew under the same text."""
    if wanted is None:
        return set()
    seals = wanted.get("encrypt", {})
    return {text for place, text in enumerate(wanted["targets"]) if str(place) not in seals}
