"""PowerDNS Authoritative, through its HTTP API.

One PATCH holds all changes of a zone and is one transaction there. The API knows no precondition: what is old
is compared with a reading taken just before, and a writer in between is overwritten unseen; nothing else can
be promised here. Disabled records and comments stay as they are.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import dns.exception
import dns.name
import dns.rdataclass
import dns.rdataset
import dns.rdatatype
import dns.zone

from providers.backends.backend import Capabilities
from providers.backends.closest_zone import find_closest_zone
from providers.backends.errors import BackendError
from providers.backends.powerdns_api import ApiChange, ApiRecord, ApiZone, PowerDnsApi
from providers.backends.single_change import SingleChange, single_changes
from providers.backends.zone import PlacedChange, Zone
from providers.backends.zone_value import adjust_where_possible, format_name
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint

_DEFAULT_TTL = 300


@dataclass(frozen=True)
class _ReadZone:
    """A zone as it was read: what is served of it, and what is switched off, by name and type."""

    id: str
    zone: Zone
    disabled: dict[tuple[dns.name.Name, str], tuple[ApiRecord, ...]]


class PowerDnsBackend:
    """Every zone of one server that lies in the domain filter."""

    def __init__(self, api: PowerDnsApi, *, domain_filter: DomainFilter | None = None) -> None:
        self._api = api
        self._given_filter = domain_filter

    def records(self) -> Sequence[Endpoint]:
        return [
            endpoint
            for zone_id in self._fetch_zone_ids().values()
            for endpoint in self._fetch(zone_id).zone.endpoints.values()
        ]

    def apply(self, change_set: ChangeSet) -> None:
        by_zone = self._changes_by_zone(single_changes(change_set))
        # All zones are read and checked before the first one is written.
        ready = []
        for zone_id, changes in by_zone.items():
            read = self._fetch(zone_id)
            ready.append((zone_id, [_build_change(read, each) for each in read.zone.placed(changes)]))
        for place, (zone_id, patch) in enumerate(ready):
            try:
                self._api.change_zone(zone_id, patch)
            except BackendError as error:
                before = ", ".join(each for each, _ in ready[:place])
                raise BackendError(f"{error} Applied before: {before}." if before else str(error)) from error

    def adjust(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """Targets as a zone holds them. What no zone can hold stays as it is; `apply` explains it then."""
        return [adjust_where_possible(endpoint) for endpoint in endpoints]

    def property_values_equal(self, name: str, previous: str, current: str) -> bool:
        return previous == current

    def domain_filter(self) -> DomainFilter:
        return self._given_filter or DomainFilter(include=tuple(self._fetch_zone_ids()))

    def capabilities(self) -> Capabilities:
        return Capabilities(
            atomic=True,  # a zone; several are written one after the other
            value_exact=True,
            ordered=False,
            immediate=True,
            set_identifiers=False,
            provider_specific=False,
        )

    def _fetch_zone_ids(self) -> dict[str, str]:
        zones = {each.name.removesuffix(".").lower(): each.id for each in self._api.fetch_zones()}
        wanted = self._given_filter
        return {name: zones[name] for name in sorted(zones) if wanted is None or wanted.matches(name)}

    def _fetch(self, zone_id: str) -> _ReadZone:
        return _read_zone(self._api.fetch_zone(zone_id))

    def _changes_by_zone(self, changes: Sequence[SingleChange]) -> dict[str, list[SingleChange]]:
        zone_ids = self._fetch_zone_ids()
        by_zone: dict[str, list[SingleChange]] = defaultdict(list)
        for change in changes:
            by_zone[find_closest_zone(change.key, zone_ids)].append(change)
        return by_zone


def _read_zone(read: ApiZone) -> _ReadZone:
    """The zone as values. Types of PowerDNS's own (ALIAS, LUA) are left where they are, and not shown."""
    zone = dns.zone.Zone(dns.name.from_text(read.name), relativize=False)
    disabled: dict[tuple[dns.name.Name, str], tuple[ApiRecord, ...]] = {}
    for rrset in read.rrsets:
        try:
            name = dns.name.from_text(rrset.name)
            dns.rdatatype.from_text(rrset.type)
            contents = [each.content for each in rrset.records if not each.disabled]
            rdataset = dns.rdataset.from_text(dns.rdataclass.IN, rrset.type, rrset.ttl, *contents)
        except (dns.exception.DNSException, ValueError):
            continue
        off = tuple(each for each in rrset.records if each.disabled)
        if off:
            disabled[name, rrset.type] = off
        if contents:
            zone.replace_rdataset(name, rdataset)
    return _ReadZone(read.id, Zone(zone, _DEFAULT_TTL), disabled)


def _build_change(read: _ReadZone, change: PlacedChange) -> ApiChange:
    record_type = change.key.record_type
    off = read.disabled.get((change.name, record_type), ())
    name = f"{format_name(change.name)}."
    if change.rdataset is None and not off:
        return ApiChange(name, record_type, "DELETE")
    served = tuple(ApiRecord(rdata.to_text()) for rdata in change.rdataset or ())
    ttl = change.rdataset.ttl if change.rdataset is not None else _DEFAULT_TTL
    return ApiChange(name, record_type, "REPLACE", ttl, (*served, *off))
