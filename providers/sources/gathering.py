"""One wish out of all that was found: each record set once. Pure."""

from collections.abc import Iterable, Iterator

import msgspec

from providers.registries.labels import RESOURCE
from providers.sources.errors import InvalidManifest
from providers.sources.placed_endpoint import PlacedEndpoint
from providers.wire.canonical_name import canonical_targets, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.poison import safe_text

# ExternalDNS's sources that merge what several objects of a kind want; two DNSEndpoints are a mistake.
_MERGING = ("ingress", "service")
_ADDRESSES = ("A", "AAAA")


def gather(endpoints: Iterable[PlacedEndpoint]) -> Iterator[Endpoint]:
    """Each record set once, in the order found. Raises InvalidManifest where one is wanted twice.

    Several Ingresses, or several Services, may want one: its targets are those of all of them, and its
    resource is the first of theirs by name, so that it stays the same whatever the order.
    """
    found: dict[EndpointKey, list[PlacedEndpoint]] = {}
    for placed in endpoints:
        found.setdefault(endpoint_key(placed.endpoint), []).append(placed)
    for key, group in found.items():
        yield group[0].endpoint if len(group) == 1 else _merge(key, group)


def _merge(key: EndpointKey, group: list[PlacedEndpoint]) -> Endpoint:
    first, *others = group
    what = " ".join(safe_text(part) for part in key if part)
    has_targets_of_all = key.record_type in _ADDRESSES
    for other in others:
        if _source_of(other) != _source_of(first) or _source_of(first) not in _MERGING:
            reason = f"{what} is declared a second time; {first.place} declares it already. Keep one of them."
            raise InvalidManifest(reason, other.place)
        if other.endpoint.record_ttl != first.endpoint.record_ttl:
            reason = f"{what} is wanted with another TTL than {first.place} wants. Give both the same."
            raise InvalidManifest(reason, other.place)
        if not has_targets_of_all and canonical_targets(other.endpoint) != canonical_targets(first.endpoint):
            reason = f"{what} is wanted with another target than {first.place} wants. Keep one of them."
            raise InvalidManifest(reason, other.place)
    kept = min(group, key=_resource_of).endpoint
    if not has_targets_of_all:
        return kept
    targets = sorted({target for each in group for target in each.endpoint.targets})
    return msgspec.structs.replace(kept, targets=tuple(targets))


def _resource_of(placed: PlacedEndpoint) -> str:
    return placed.endpoint.labels.get(RESOURCE, "")


def _source_of(placed: PlacedEndpoint) -> str:
    return _resource_of(placed).partition("/")[0]
