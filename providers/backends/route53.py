"""AWS Route 53.

A change set goes in as few batches as the service's limits allow, a record and its claim always in one; each
is applied as a whole or not at all. An update is a DELETE of exactly what was read and a CREATE in one batch:
never an UPSERT, so that nothing is overwritten that nobody saw. When a batch is refused, its parts are tried
apart, so that one bad record does not keep the others from being made; the answer then says which were not.
"""

import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from providers.backends.backend import Capabilities
from providers.backends.closest_zone import find_closest_zone
from providers.backends.errors import BackendError, ChangeImpossible, ChangeRefused
from providers.backends.route53_api import BatchRefused, HostedZone, Route53Api
from providers.backends.route53_value import RecordSet, adjust, build_endpoint, build_record_set
from providers.backends.single_change import (
    SingleChange,
    describe,
    is_same_value,
    key_of,
    single_changes,
)
from providers.registries.claim import DEFAULT_PROFILE
from providers.registries.txt_changes import OWNED_RECORD
from providers.registries.txt_names import parse_txt_name
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey

# Of one batch: the service's own limits, with room.
_MOST_CHANGES = 900
_MOST_CHARACTERS = 30_000


@dataclass
class _Group:
    """Changes that are never apart: those of one name and of the claims for it."""

    changes: list[dict[str, Any]] = field(default_factory=list)
    keys: list[EndpointKey] = field(default_factory=list)

    @property
    def characters(self) -> int:
        return sum(
            len(each["Value"])
            for change in self.changes
            for each in change["ResourceRecordSet"].get("ResourceRecords", ())
        )


class Route53Backend:
    """Every hosted zone that matches. `is_private` chooses between zones of one name."""

    def __init__(
        self,
        api: Route53Api,
        *,
        domain_filter: DomainFilter | None = None,
        zone_ids: Sequence[str] = (),
        is_private: bool | None = None,
        prefer_cname: bool = False,
    ) -> None:
        self._api = api
        self._given_filter = domain_filter
        self._zone_ids = frozenset(zone_ids)
        self._is_private = is_private
        self._prefer_cname = prefer_cname
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
        by_zone: dict[str, list[SingleChange]] = defaultdict(list)
        for change in single_changes(change_set):
            by_zone[find_closest_zone(change.key, zones).id].append(change)
        batches = [
            (zone_id, batch)
            for zone_id, changes in by_zone.items()
            for batch in _split(self._build_groups(zone_id, changes))
        ]
        refused: list[str] = []
        for place, (zone_id, batch) in enumerate(batches):
            try:
                refused += self._submit(zone_id, batch)
            except BackendError as error:
                left = sum(len(group.keys) for _, each in batches[place:] for group in each)
                raise BackendError(f"{error} {left} of {_count(batches)} changes were not made.") from error
        if refused:
            raise ChangeRefused(
                f"{len(refused)} of {_count(batches)} changes were not made, the others were: "
                f"{'; '.join(refused)[:1500]}"
            )

    def adjust(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        return adjust(endpoints, prefer_cname=self._prefer_cname)

    def property_values_equal(self, name: str, previous: str, current: str) -> bool:
        return previous == current

    def domain_filter(self) -> DomainFilter:
        return self._given_filter or DomainFilter(include=tuple(self._fetch_zones()))

    def capabilities(self) -> Capabilities:
        return Capabilities(
            atomic=False,
            value_exact=True,
            ordered=True,
            immediate=True,
            set_identifiers=True,
            provider_specific=True,
        )

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

    def _build_groups(self, zone_id: str, changes: Sequence[SingleChange]) -> list[_Group]:
        with self._lock:
            read = self._read.get(zone_id)
        if read is None or any(change.old is not None and change.key not in read for change in changes):
            read = {key: raw for key, (raw, _) in self._read_zone(zone_id).items()}
        names = {change.key.name for change in changes}
        groups: dict[str, _Group] = defaultdict(_Group)
        for change in changes:
            group = groups[_find_subject(change, names)]
            group.keys.append(change.key)
            if change.old is not None:
                group.changes.append(_delete(change, read))
            if change.new is not None:
                record_set = build_record_set(change.new, zone_id)
                group.changes.append({"Action": "CREATE", "ResourceRecordSet": record_set})
        return [groups[name] for name in sorted(groups)]

    def _submit(self, zone_id: str, batch: Sequence[_Group]) -> list[str]:
        """Send a batch, apart where it is refused. What was not made, each with the service's reason."""
        changes = [change for group in batch for change in group.changes]
        # Deletes first: a record set replaced within one batch does not meet itself.
        changes.sort(key=lambda change: change["Action"] == "CREATE")
        try:
            self._api.change(zone_id, changes)
        except BatchRefused as error:
            if len(batch) == 1:
                return [f"{describe(key)} ({error})" for key in batch[0].keys]
            middle = len(batch) // 2
            return self._submit(zone_id, batch[:middle]) + self._submit(zone_id, batch[middle:])
        finally:
            with self._lock:
                self._read.pop(zone_id, None)
        return []


def _find_subject(change: SingleChange, names: set[str]) -> str:
    """The name a change is about: for a claim, that of the record it speaks for, where that changes too."""
    endpoint = change.new or change.old
    if change.key.record_type != "TXT" or endpoint is None:
        return change.key.name
    owned = endpoint.labels.get(OWNED_RECORD, "")
    if owned:
        return owned.lower().removesuffix(".")
    reading = parse_txt_name(change.key.name, DEFAULT_PROFILE)
    return reading.record_name if reading is not None and reading.record_name in names else change.key.name


def _delete(change: SingleChange, read: dict[EndpointKey, RecordSet]) -> dict[str, Any]:
    """What was read, word for word: the service deletes nothing that differs in a letter."""
    raw = read.get(change.key)
    held = build_endpoint(raw) if raw is not None else None
    if raw is None or held is None:
        raise ChangeRefused(f"{describe(change.key)} does not exist, so it cannot be changed or deleted.")
    if change.old is None or not is_same_value(held, change.old):
        raise ChangeRefused(
            f"{describe(change.key)} does not have the value the request calls old. "
            "Read the records again and build the change from what they say."
        )
    return {"Action": "DELETE", "ResourceRecordSet": raw}


def _split(groups: Sequence[_Group]) -> list[list[_Group]]:
    """Groups in batches within the limits, in their order. Raises ChangeImpossible for one beyond them."""
    batches: list[list[_Group]] = []
    count = characters = 0
    for group in groups:
        if len(group.changes) > _MOST_CHANGES or group.characters > _MOST_CHARACTERS:
            raise ChangeImpossible(
                f"The changes of {group.keys[0].name} are more than one batch of Route 53 can hold. "
                "Nothing was applied."
            )
        is_full = (
            count + len(group.changes) > _MOST_CHANGES or characters + group.characters > _MOST_CHARACTERS
        )
        if not batches or is_full:
            batches.append([])
            count = characters = 0
        batches[-1].append(group)
        count += len(group.changes)
        characters += group.characters
    return batches


def _count(batches: Sequence[tuple[str, Sequence[_Group]]]) -> int:
    return sum(len(group.keys) for _, batch in batches for group in batch)
