"""What follows from instances that act on claims they read before (--txt-cache-interval). Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from providers.wire.endpoint import EndpointKey
from registry_app.queries.instance import InstanceFacts
from registry_app.transfer.plan.instance_verdicts import find_why_not
from registry_app.transfer.plan.provider_plan import Refusal

_MOST_NAMED = 5


def describe_caches(instances: Iterable[InstanceFacts], provider_id: int) -> dict[str, int]:
    """For how many seconds instances that may write at a provider act on claims they read before, by name."""
    here = (each for each in instances if each.writes_at(provider_id) and each.claim_cache_seconds)
    return {each.name: each.claim_cache_seconds or 0 for each in here}


class FormerOwners:
    """The instances of those who owned the record sets of a plan, by owner id."""

    def __init__(self, instances: Mapping[str, tuple[InstanceFacts, ...]], provider_id: int) -> None:
        self._caching = {
            owner_id: [each for each in found if each.claim_cache_seconds]
            for owner_id, found in instances.items()
        }
        self._provider_id = provider_id

    def describe(self, owner_ids: Iterable[str], key: EndpointKey) -> str:
        """Which of them may still act on a record set, and for how long; empty if none is known to."""
        acting = [
            each
            for owner_id in owner_ids
            for each in self._caching.get(owner_id, ())
            if not find_why_not(each, key, self._provider_id)
        ]
        sentences = [
            f"The instance {each.name} of {each.owner_id} may still change or delete it for up to "
            f"{each.claim_cache_seconds} s after this is sent, or until it is restarted: it uses "
            "cached claims (--txt-cache-interval)."
            for each in acting[:_MOST_NAMED]
        ]
        return " ".join(sentences)


def find_cache_warnings(preconditions: Mapping[str, Any]) -> list[Refusal]:
    """What instances that cache claims mean for a plan, whose preconditions these are."""
    former: Mapping[str, Mapping[str, int]] = preconditions.get("former owners", {})
    owners: Mapping[str, Mapping[str, Any]] = preconditions.get("owners", {})
    new = {owner_id: said.get("claim cache", {}) for owner_id, said in owners.items()}
    found = []
    if told := _name_caches(former):
        found.append(
            Refusal(
                "former_owner_caches_claims",
                f"Instances of the former owner use cached claims (--txt-cache-interval): {told}.",
                now="During that time after this is sent they may still change or delete these record sets.",
                todo="Restart them after this was sent, or keep the sources of these record sets in their "
                "cluster until that time is over.",
                is_warning=True,
            )
        )
    if told := _name_caches(new):
        found.append(
            Refusal(
                "new_owner_caches_claims",
                f"Instances of the new owner use cached claims (--txt-cache-interval): {told}.",
                now="During that time after this is sent they leave these record sets alone.",
                todo="Wait, or restart them after this was sent.",
                is_warning=True,
            )
        )
    return found


def _name_caches(owners: Mapping[str, Mapping[str, int | None]]) -> str:
    told = [
        f"{name} of {owner_id} for up to {seconds} s"
        for owner_id, caches in owners.items()
        for name, seconds in caches.items()
        if seconds
    ]
    more = f" and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
    return f"{', '.join(told[:_MOST_NAMED])}{more}"
