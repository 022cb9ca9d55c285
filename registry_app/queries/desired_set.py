"""What instances want at some names, as they posted it through the guard."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from registry_app.clock import fetch_now
from registry_app.models import DesiredEndpoint, DesiredSet
from registry_app.queries.guard_endpoint import is_stale

_NAMES_AT_ONCE = 500
# Of more names, all rows of a desired set are read: few sets are much larger.
_MOST_NAMES = 5_000
_VALUES = ("name", "record_type", "set_identifier", "targets", "ttl", "provider_specific")


@dataclass(frozen=True)
class DesiredFacts:
    """What one instance wants at some names: these endpoints and no others. `is_stale`: it has not posted for
    three of its intervals."""

    endpoints: Mapping[EndpointKey, Endpoint]
    is_stale: bool = False

    def list_types_at(self, key: EndpointKey) -> list[str]:
        """The types that are wanted at a name and set identifier."""
        return self._types.get((key.name, key.set_identifier), [])

    @cached_property
    def _types(self) -> Mapping[tuple[str, str], list[str]]:
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for key in self.endpoints:
            found[key.name, key.set_identifier].append(key.record_type)
        return found


def fetch_desired_facts(owner_id: str, provider_id: int, names: Collection[str]) -> dict[str, DesiredFacts]:
    """What the instances of an owner want at a provider, by the name of the instance; those that posted
    nothing yet are not in it. Database read."""
    sets = DesiredSet.objects.filter(
        guard_endpoint__provider=provider_id, guard_endpoint__instance__owner__owner_id=owner_id
    ).select_related("guard_endpoint__instance")
    rows = list(sets.order_by("pk"))
    if not rows:
        return {}  # mostly, and then without asking for the time
    now = fetch_now()
    return {
        row.guard_endpoint.instance.name: DesiredFacts(_fetch_endpoints(row.pk, names), is_stale(row, now))
        for row in rows
    }


def _fetch_endpoints(guard_endpoint_id: int, names: Collection[str]) -> dict[EndpointKey, Endpoint]:
    rows = DesiredEndpoint.objects.filter(guard_endpoint=guard_endpoint_id).order_by()
    ordered = sorted(names)
    parts = [rows]
    if len(ordered) <= _MOST_NAMES:
        starts = range(0, len(ordered), _NAMES_AT_ONCE)
        parts = [rows.filter(name__in=ordered[start : start + _NAMES_AT_ONCE]) for start in starts]
    wanted = frozenset(names)
    return {
        EndpointKey(name, record_type, set_identifier): Endpoint(
            dns_name=name,
            targets=tuple(targets),
            record_type=record_type,
            set_identifier=set_identifier,
            record_ttl=ttl,
            provider_specific=tuple(ProviderSpecificProperty(*pair) for pair in provider_specific),
        )
        for part in parts
        for name, record_type, set_identifier, targets, ttl, provider_specific in part.values_list(
            *_VALUES
        ).iterator(chunk_size=2_000)
        if name in wanted
    }
