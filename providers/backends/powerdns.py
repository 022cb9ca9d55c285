"""PowerDNS Authoritative, through its HTTP API.

One PATCH holds all changes of a zone that can be made and is one transaction there; where PowerDNS does not
take it, its parts are tried apart. The API knows no precondition: what is old is compared with a reading
taken just before, and a writer in between is overwritten unseen; nothing else can be promised here. Disabled
records and comments stay as they are.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import dns.exception
import dns.name
import dns.rdataclass
import dns.rdataset
import dns.rdatatype
import dns.zone
import msgspec

from providers.backends.backend import Backend, BackendOptions
from providers.backends.errors import (
    BackendError,
    ChangeImpossible,
    ChangeRefused,
    Outcome,
    PartRefused,
    Reason,
    describe,
)
from providers.backends.single_change import find_closest_zone
from providers.backends.zone import PlacedChange, Zone
from providers.backends.zone_changes import PlacedGroup, ZoneBackend, ZoneChanges
from providers.backends.zone_value import format_name
from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import BoundedHttp, Limits
from providers.http.credentials import NO_CREDENTIALS
from providers.http.errors import ProviderError, RefusedByProvider
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey

_DEFAULT_TTL = 300
_KEY_VARIABLE = "PDNS_API_KEY"
_T = TypeVar("_T")
# Whoever starts the server gives the address of the API; loopback is usual.
_POLICY = AddressPolicy(allow_loopback=True)
_LIMITS = Limits(seconds=30.0, max_body_bytes=512 * 1024 * 1024)
# A zone that is gone (404) or in use (409): another may do. A change that is not taken (422): a part may do.
_REFUSALS: Mapping[int, type[BackendError]] = {404: ChangeRefused, 409: ChangeRefused, 422: PartRefused}


class ApiRecord(msgspec.Struct, frozen=True):
    """One record of a record set; a disabled one is kept and not served."""

    content: str
    disabled: bool = False


class ApiRecordSet(msgspec.Struct, frozen=True):
    """One record set as the API shows it."""

    name: str
    type: str
    ttl: int
    records: tuple[ApiRecord, ...] = ()


class ApiZone(msgspec.Struct, frozen=True):
    """One zone, with its record sets where it was read whole."""

    id: str
    name: str
    rrsets: tuple[ApiRecordSet, ...] = ()


class ApiChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record set to be replaced or deleted. Comments are not sent, and so stay."""

    name: str
    type: str
    changetype: str
    ttl: int | None = None
    records: tuple[ApiRecord, ...] = ()


class _OutcomeUnknown(BackendError):
    """The change left, and no answer tells what became of it."""


@dataclass(frozen=True)
class PowerDnsApi:
    """One server behind one API. The key is sent with every request, and shown nowhere."""

    url: str
    key: str = field(repr=False)
    server_id: str = "localhost"
    limits: Limits = _LIMITS

    def fetch_zones(self) -> tuple[ApiZone, ...]:
        """All zones, without their record sets. Raises BackendError."""
        return _decode(self._call("GET", "zones"), tuple[ApiZone, ...], "list of zones")

    def fetch_zone(self, zone_id: str) -> ApiZone:
        """One zone with all its record sets. Raises BackendError."""
        return _decode(self._call("GET", f"zones/{zone_id}"), ApiZone, f"zone {zone_id}")

    def change_zone(self, zone_id: str, changes: Sequence[ApiChange]) -> None:
        """Make all changes or none. Raises BackendError; its text says where nobody can tell which."""
        self._call("PATCH", f"zones/{zone_id}", msgspec.json.encode({"rrsets": changes}))

    def _call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        try:
            http = BoundedHttp(self.url, NO_CREDENTIALS, _POLICY, self.limits)
        except ProviderError as error:
            raise BackendError(f"The address of the PowerDNS API cannot be used: {error}") from error
        exchange = http.begin()
        url = http.address.joined(f"api/v1/servers/{self.server_id}/{path}")
        headers: Mapping[str, str] = {"X-API-Key": self.key, "Content-Type": "application/json"}
        try:
            with http.send(exchange, method, url, headers, body) as answer:
                if not 200 <= answer.status < 300:
                    raise answer.refusal()
                return answer.read_body().data
        except RefusedByProvider as error:
            kind = _REFUSALS.get(error.status, BackendError)
            raise kind(_explain(error, path), reason=Reason.SERVICE) from error
        except ProviderError as error:
            if method != "GET" and exchange.began_sending:
                raise _OutcomeUnknown(
                    f"{error} The change left, and may have been made: read the records again."
                ) from error
            raise BackendError(f"{error} Nothing was changed.") from error


def _decode(body: bytes, kind: type[_T], what: str) -> _T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BackendError(f"The {what} of PowerDNS cannot be read: {error}. It was not used.") from error


def _explain(error: RefusedByProvider, path: str) -> str:
    text = {
        401: "The API key is not accepted.",
        403: "The API key is not accepted.",
        404: f"There is no {path.partition('/')[0].removesuffix('s')} of that name any more.",
        409: "Another writer changes the zone right now.",
        422: "PowerDNS does not take the change.",
    }.get(error.status, "")
    return f"{text} {error} Nothing was changed.".strip()


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
