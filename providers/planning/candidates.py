"""Which of several wanted endpoints for one name and type wins. Pure.

Facts of ExternalDNS: fewer targets come first, then addresses before names, then the text itself; one that
comes from the same resource as what stands there keeps it.
"""

import ipaddress
from collections.abc import Sequence

from providers.registries.labels import RESOURCE
from providers.wire.endpoint import Endpoint


def choose_new(candidates: Sequence[Endpoint]) -> Endpoint:
    """The one to create of at least one candidate."""
    return candidates[0] if len(candidates) == 1 else min(candidates, key=_rank)


def choose_next(candidates: Sequence[Endpoint], resource: str) -> Endpoint:
    """The one to update to, where `resource` is what the record set stands for now."""
    if len(candidates) > 1 and resource:
        same = [each for each in candidates if each.labels.get(RESOURCE, "") == resource]
        if same:
            return choose_new(same)
    return choose_new(candidates)


def _rank(endpoint: Endpoint) -> tuple[object, ...]:
    targets = sorted((not _is_address(target), target.lower()) for target in endpoint.targets)
    # Beyond what ExternalDNS compares: where it takes the first of equals, no order is left to chance here.
    resource = endpoint.labels.get(RESOURCE, "")
    properties = sorted((item.name, item.value) for item in endpoint.provider_specific)
    return len(targets), targets, resource, endpoint.record_ttl, properties, endpoint.targets


def _is_address(target: str) -> bool:
    try:
        ipaddress.ip_address(target)
    except ValueError:
        return False
    return True
