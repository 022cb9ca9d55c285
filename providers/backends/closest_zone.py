"""Which of several zones a name belongs to. Pure."""

from collections.abc import Mapping
from typing import TypeVar

from providers.backends.errors import ChangeImpossible, Reason
from providers.backends.single_change import describe
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import EndpointKey

_T = TypeVar("_T")


def find_closest_zone(
    key: EndpointKey, zones: Mapping[str, _T], domain_filter: DomainFilter | None = None
) -> _T:
    """What stands under the longest zone name (canonical) at or above a record set's name.

    Raises ChangeImpossible where there is none, or where the name is outside the domain filter.
    """
    rest = key.name if domain_filter is None or domain_filter.matches(key.name) else ""
    while rest:
        if rest in zones:
            return zones[rest]
        rest = rest.partition(".")[2]
    raise ChangeImpossible(
        f"{describe(key)} is in none of the zones served here ({', '.join(zones)[:200]}). "
        "Nothing was applied; serve its zone here, or keep the name out with --domain-filter.",
        reason=Reason.OUTSIDE,
    )
