"""AWS Route 53.

A change set goes in as few batches as the service's limits allow, a record and its claim always in one; each
is applied as a whole or not at all. An update is a DELETE of exactly what was read and a CREATE in one batch:
never an UPSERT, so that nothing is overwritten that nobody saw. When a batch is refused, its parts are tried
apart, and what cannot be asked for at all is left out, so that one bad record does not keep the others from
being made; the answer then names those that were not.
"""

import argparse
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from providers.backends.backend import Backend, BackendOptions
from providers.backends.change_groups import ChangeGroup, group_changes, settle_group
from providers.backends.errors import BackendError, ChangeImpossible, Outcome
from providers.backends.old_value import NamesInUse, OldValues
from providers.backends.route53_api import HostedZone, Part, Route53Api, build_part, join_parts, split_parts
from providers.backends.route53_value import (
    RecordSet,
    adjust,
    build_endpoint,
    build_record_set,
    comparable_properties,
    is_same_record_set,
)
from providers.backends.single_change import SingleChange, find_closest_zone, key_of, split_change_set
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey


class Route53Backend(Backend):
    """Every hosted zone that matches. `is_private` chooses between zones of one name."""

    def __init__(
        self,
        api: Route53Api,
        *,
        domain_filter: DomainFilter | None = None,
        zone_ids: Sequence[str] = (),
        is_private: bool | None = None,
        prefer_cname: bool = False,
        encryption_keys: Sequence[bytes] = (),
    ) -> None:
        self._api = api
        self._given_filter = domain_filter
        self._zone_ids = frozenset(zone_ids)
        self._is_private = is_private
        self._prefer_cname = prefer_cname
        self._old_values = OldValues(encryption_keys, properties=comparable_properties)
        self._lock = threading.Lock()
        self._read: dict[str, dict[EndpointKey, RecordSet]] = {}

    def records(self) -> Sequence[Endpoint]:
        zones = self._fetch_zones()
        read = {zone.id: self._read_zone(zone.id) for zone in zones.values()}
        with self._lock:
            self._read = {
                zone_id: {key: raw for key, (raw, _) in held.items()} for zone_id, held in read.items()
            }
        return [endpoint for held in read.values() for _, endpoint in held.values()]

    def apply(self, change_set: ChangeSet) -> None:
        zones = self._fetch_zones()
        split = split_change_set(change_set)
        outcome = Outcome(split.refused)
        contents = _Contents(self._take_read, self._fetch_raw)
        by_zone: dict[str, list[Part]] = defaultdict(list)
        for group in group_changes(split.changes):
            made, refused = settle_group(group, partial(self._settle, zones, contents))
            if refused and contents.refresh(zones, group):
                contents.names.drop()
                # What was read a while ago may be behind: this is settled with a fresh reading.
                made, refused = settle_group(group, partial(self._settle, zones, contents))
            contents.names.keep() if made else contents.names.drop()
            outcome.refused += refused
            for zone_id, part in join_parts(made).items():
                by_zone[zone_id].append(part)
        for zone_id, parts in by_zone.items():
            outcome.send(split_parts(parts), partial(self._submit, zone_id))
        outcome.raise_if_refused()

    def adjust(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        return adjust(endpoints, prefer_cname=self._prefer_cname)

    def find_problems(self, endpoints: Sequence[Endpoint]) -> Sequence[ChangeImpossible | None]:
        zones = self._fetch_zones()
        return [self._find_problem(endpoint, zones) for endpoint in endpoints]

    def _find_problem(self, endpoint: Endpoint, zones: Mapping[str, HostedZone]) -> ChangeImpossible | None:
        try:
            zone = find_closest_zone(key_of(endpoint), zones, self._given_filter)
            for each in adjust([endpoint], prefer_cname=self._prefer_cname):
                build_record_set(each, zone.id)
        except ChangeImpossible as error:
            return error
        return None

    def domain_filter(self) -> DomainFilter:
        return self._given_filter or DomainFilter(include=tuple(self._fetch_zones()))

    def _fetch_zones(self) -> dict[str, HostedZone]:
        zones: dict[str, HostedZone] = {}
        for zone in self._api.fetch_zones():
            if not self._is_wanted(zone):
                continue
            if zone.name in zones:
                raise BackendError(
                    f"Two hosted zones are called {zone.name}. Nothing was read. Choose one with --zone-id, "
                    "or the public or the private one with --zone-type."
                )
            zones[zone.name] = zone
        return zones

    def _is_wanted(self, zone: HostedZone) -> bool:
        if self._zone_ids and zone.id not in self._zone_ids:
            return False
        if self._is_private is not None and zone.is_private is not self._is_private:
            return False
        return self._given_filter is None or self._given_filter.matches(zone.name)

    def _read_zone(self, zone_id: str) -> dict[EndpointKey, tuple[RecordSet, Endpoint]]:
        held: dict[EndpointKey, tuple[RecordSet, Endpoint]] = {}
        for record_set in self._api.fetch_record_sets(zone_id):
            endpoint = build_endpoint(record_set)
            if endpoint is None:
                continue
            try:
                key = key_of(endpoint)
            except ChangeImpossible:
                # An odd name: shown as it is, and no request can address it.
                key = EndpointKey(endpoint.dns_name, endpoint.record_type, endpoint.set_identifier)
            held[key] = record_set, endpoint
        return held

    def _settle(
        self, zones: Mapping[str, HostedZone], contents: "_Contents", change: SingleChange
    ) -> tuple[str, Part]:
        """The zone of a change, and what the service is asked for. Raises ChangeRefused, ChangeImpossible."""
        zone_id = find_closest_zone(change.key, zones, self._given_filter).id
        raw = contents.held(zone_id).get(change.key)
        after = self._old_values.settle(change, build_endpoint(raw) if raw is not None else None)
        wanted = build_record_set(after, zone_id, held=raw) if after is not None else None
        contents.names.place(change.key, exists=wanted is not None)
        if raw is not None and wanted is not None and is_same_record_set(raw, wanted, zone_id):
            return zone_id, Part([], [change.key])
        return zone_id, build_part(change.key, raw, wanted)

    def _take_read(self, zone_id: str) -> dict[EndpointKey, RecordSet] | None:
        with self._lock:
            return self._read.get(zone_id)

    def _fetch_raw(self, zone_id: str) -> dict[EndpointKey, RecordSet]:
        return {key: raw for key, (raw, _) in self._read_zone(zone_id).items()}

    def _submit(self, zone_id: str, parts: Sequence[Part]) -> None:
        """Send a batch. Raises PartRefused where some of it may do alone."""
        changes = [change for part in parts for change in part.changes]
        if not changes:
            return
        # Deletes first: a record set replaced within one batch does not meet itself.
        changes.sort(key=lambda change: change["Action"] == "CREATE")
        try:
            self._api.change(zone_id, changes)
        finally:
            with self._lock:
                self._read.pop(zone_id, None)


class _Contents:
    """What the zones of one request hold: as it was last listed, or read anew where that does not fit."""

    def __init__(
        self,
        recall: Callable[[str], dict[EndpointKey, RecordSet] | None],
        fetch: Callable[[str], dict[EndpointKey, RecordSet]],
    ) -> None:
        self._recall = recall
        self._fetch = fetch
        self._held: dict[str, dict[EndpointKey, RecordSet]] = {}
        self._fresh: set[str] = set()
        self._by_name: dict[str, dict[str, list[EndpointKey]]] = {}
        self.names = NamesInUse(self._find_keys)

    def held(self, zone_id: str) -> dict[EndpointKey, RecordSet]:
        """The record sets of a zone."""
        if zone_id not in self._held:
            recalled = self._recall(zone_id)
            if recalled is None:
                self._fresh.add(zone_id)
            self._take(zone_id, self._fetch(zone_id) if recalled is None else recalled)
        return self._held[zone_id]

    def _take(self, zone_id: str, held: dict[EndpointKey, RecordSet]) -> None:
        self._held[zone_id] = held
        by_name: dict[str, list[EndpointKey]] = defaultdict(list)
        for key in held:
            by_name[key.name].append(key)
        self._by_name[zone_id] = by_name

    def _find_keys(self, name: str) -> Iterator[EndpointKey]:
        for by_name in self._by_name.values():
            yield from by_name.get(name, ())

    def refresh(self, zones: Mapping[str, HostedZone], group: ChangeGroup) -> bool:
        """Read the zones of a group anew, where that was not done for this request. False if it was."""
        names = [change.key.name for change in group.changes]
        stale = {
            zone.id
            for domain, zone in zones.items()
            if zone.id in self._held
            and zone.id not in self._fresh
            and any(name == domain or name.endswith(f".{domain}") for name in names)
        }
        for zone_id in stale:
            self._fresh.add(zone_id)
            self._take(zone_id, self._fetch(zone_id))
        return bool(stale)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which zones are served, and how."""
    parser.add_argument(
        "--zone-id", action="append", default=[], metavar="ID", help="serve only this zone; repeatable"
    )
    parser.add_argument("--zone-type", choices=("public", "private"), help="serve only zones of this type")
    parser.add_argument(
        "--prefer-cname", action="store_true", help="leave a CNAME to a service of AWS a CNAME"
    )
    parser.add_argument(
        "--deadline", type=float, default=60.0, metavar="SECONDS", help="of one call (%(default)s)"
    )


def build(options: BackendOptions) -> Backend:
    """The backend. Raises BackendError for settings of AWS that cannot be used."""
    return Route53Backend(
        Route53Api(seconds=options.own.deadline),
        domain_filter=options.domain_filter,
        encryption_keys=options.encryption_keys,
        zone_ids=options.own.zone_id,
        is_private=None if options.own.zone_type is None else options.own.zone_type == "private",
        prefer_cname=options.own.prefer_cname,
    )
