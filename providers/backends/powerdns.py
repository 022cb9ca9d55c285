"""PowerDNS Authoritative, through its HTTP API.

One PATCH holds all changes of a zone that can be made and is one transaction there; where PowerDNS does not
take it, its parts are tried apart. The API knows no precondition: what is old is compared with a reading
taken just before, and a writer in between is overwritten unseen; nothing else can be promised here. Disabled
records and comments stay as they are.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import dns.exception
import dns.name
import dns.rdataclass
import dns.rdataset
import dns.rdatatype
import dns.zone

from providers.backends.backend import Backend, BackendOptions
from providers.backends.errors import ChangeImpossible, Outcome, describe
from providers.backends.powerdns_api import ApiChange, ApiRecord, ApiZone, PowerDnsApi
from providers.backends.single_change import find_closest_zone
from providers.backends.zone import PlacedChange, Zone
from providers.backends.zone_changes import PlacedGroup, ZoneBackend, ZoneChanges
from providers.backends.zone_value import format_name
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey

_DEFAULT_TTL = 300
_KEY_VARIABLE = "PDNS_API_KEY"


@dataclass(frozen=True)
class _ReadZone:
    """A zone as it was read: what is served of it, and what is switched off, by name and type."""

    id: str
    zone: Zone
    disabled: dict[tuple[dns.name.Name, str], tuple[ApiRecord, ...]]


class PowerDnsBackend(ZoneBackend[str]):
    """Every zone of one server that lies in the domain filter."""

    def __init__(
        self,
        api: PowerDnsApi,
        *,
        domain_filter: DomainFilter | None = None,
        encryption_keys: Sequence[bytes] = (),
    ) -> None:
        super().__init__(domain_filter, encryption_keys)
        self._api = api

    def records(self) -> Sequence[Endpoint]:
        return [
            endpoint
            for zone_id in self._fetch_zones().values()
            for endpoint in self._fetch(zone_id).zone.endpoints.values()
        ]

    def apply(self, change_set: ChangeSet) -> None:
        outcome = Outcome()
        zone_ids = self._fetch_zones()
        read: dict[str, _ReadZone] = {}

        def read_zone(zone_id: str) -> Zone:
            read[zone_id] = self._fetch(zone_id)
            return read[zone_id].zone

        def find_zone(key: EndpointKey) -> str:
            _raise_if_name_unfit(key)
            return find_closest_zone(key, zone_ids, self._given_filter)

        changes = ZoneChanges[str](find_zone, read_zone, self._old_values)
        # All zones are read and checked before the first one is written.
        for zone_id, groups in changes.place(change_set, outcome).items():
            outcome.send([groups], partial(self._patch, read[zone_id]))
        outcome.raise_if_refused()

    def _fetch_zones(self) -> Mapping[str, str]:
        """Their ids."""
        zones = {each.name.removesuffix(".").lower(): each.id for each in self._api.fetch_zones()}
        wanted = self._given_filter
        return {name: zones[name] for name in sorted(zones) if wanted is None or wanted.matches(name)}

    def _fetch(self, zone_id: str) -> _ReadZone:
        return _read_zone(self._api.fetch_zone(zone_id))

    def _patch(self, read: _ReadZone, groups: Sequence[PlacedGroup]) -> None:
        """Make changes of one zone, all or none. Raises PartRefused where some of them may do alone."""
        patch: dict[tuple[str, str], ApiChange] = {}
        for change in (each for group in groups for each in group.changes):
            # Of a record set that is deleted and made anew the second says it all: it replaces the first.
            made = _build_change(read, change)
            patch[made.name, made.type] = made
        if patch:
            self._api.change_zone(read.id, list(patch.values()))


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


def _raise_if_name_unfit(key: EndpointKey) -> None:
    """PowerDNS takes an asterisk as a whole first label alone, and so no claim such as `a-*.example.org`."""
    if "*" in key.name.removeprefix("*."):
        raise ChangeImpossible(
            f"{describe(key)}: PowerDNS takes an asterisk only as the first label. Nothing was applied; "
            "start ExternalDNS with --txt-wildcard-replacement=any, and no claim has one."
        )


def _build_change(read: _ReadZone, change: PlacedChange) -> ApiChange:
    record_type = change.key.record_type
    off = read.disabled.get((change.name, record_type), ())
    name = f"{format_name(change.name)}."
    if change.rdataset is None and not off:
        return ApiChange(name, record_type, "DELETE")
    served = tuple(ApiRecord(rdata.to_text()) for rdata in change.rdataset or ())
    ttl = change.rdataset.ttl if change.rdataset is not None else _DEFAULT_TTL
    return ApiChange(name, record_type, "REPLACE", ttl, (*served, *off))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the API is."""
    parser.add_argument(
        "--api-url", default="http://127.0.0.1:8081", metavar="URL", help="of the API (%(default)s)"
    )
    parser.add_argument("--api-key-file", type=Path, metavar="FILE", help="a file that holds the key")
    parser.add_argument(
        "--server-id", default="localhost", metavar="NAME", help="the server's id there (%(default)s)"
    )


def build(options: BackendOptions) -> Backend:
    """The backend. Raises ValueError where there is no key, OSError where its file cannot be read."""
    path: Path | None = options.own.api_key_file
    key = path.read_text(encoding="utf-8").strip() if path else options.environment.get(_KEY_VARIABLE, "")
    if not key:
        raise ValueError(f"No API key is given; set {_KEY_VARIABLE} or name a file with --api-key-file.")
    api = PowerDnsApi(options.own.api_url, key, options.own.server_id)
    return PowerDnsBackend(api, domain_filter=options.domain_filter, encryption_keys=options.encryption_keys)
