"""AWS Route 53.

A change set goes in as few batches as the service's limits allow, a record and its claim always in one; each
is applied as a whole or not at all. An update is a DELETE of exactly what was read and a CREATE in one batch:
never an UPSERT, so that nothing is overwritten that nobody saw. When a batch is refused, its parts are tried
apart, and what cannot be asked for at all is left out, so that one bad record does not keep the others from
being made; the answer then says which were not.
"""

import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from providers.backends.backend import Capabilities
from providers.backends.closest_zone import find_closest_zone
from providers.backends.errors import BackendError, ChangeImpossible, ChangeRefused
from providers.backends.route53_api import BatchRefused, HostedZone, Route53Api
from providers.backends.route53_batches import Group, find_subject, split_groups
from providers.backends.route53_value import RecordSet, adjust, build_endpoint, build_record_set
from providers.backends.single_change import (
    SingleChange,
    describe,
    is_same_value,
    key_of,
    single_changes,
)
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey


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
        outcome = _Outcome()
        for change in single_changes(change_set):
            try:
                by_zone[find_closest_zone(change.key, zones).id].append(change)
            except ChangeImpossible as error:
                outcome.refuse([change.key], error)
        batches: list[tuple[str, list[Group]]] = []
        for zone_id, changes in by_zone.items():
            groups = self._build_groups(zone_id, changes, outcome)
            batches += [(zone_id, batch) for batch in split_groups(groups)]
        for place, (zone_id, batch) in enumerate(batches):
            try:
                self._submit(zone_id, batch, outcome)
            except BackendError as error:
                left = sum(len(group.keys) for _, each in batches[place + 1 :] for group in each)
                raise outcome.describe_stop(error, left) from error
        outcome.raise_if_refused()

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

    def _build_groups(
        self, zone_id: str, changes: Sequence[SingleChange], outcome: "_Outcome"
    ) -> list[Group]:
        """The groups that can be asked for. Of the others `outcome` is told."""
        with self._lock:
            read = self._read.get(zone_id)
        if read is None or any(change.old is not None and change.key not in read for change in changes):
            read = {key: raw for key, (raw, _) in self._read_zone(zone_id).items()}
        names = {change.key.name for change in changes if change.key.record_type != "TXT"}
        groups: dict[str, Group] = defaultdict(Group)
        problems: dict[str, BackendError] = {}
        for change in changes:
            subject = find_subject(change, names)
            groups[subject].keys.append(change.key)
            try:
                groups[subject].changes += _build_changes(change, read, zone_id)
            except (ChangeRefused, ChangeImpossible) as error:
                problems.setdefault(subject, error)
        for subject, problem in problems.items():
            outcome.refuse(groups[subject].keys, problem)
        return [groups[name] for name in sorted(groups.keys() - problems.keys())]

    def _submit(self, zone_id: str, batch: Sequence[Group], outcome: "_Outcome") -> None:
        """Send a batch, apart where it is refused."""
        changes = [change for group in batch for change in group.changes]
        # Deletes first: a record set replaced within one batch does not meet itself.
        changes.sort(key=lambda change: change["Action"] == "CREATE")
        try:
            self._api.change(zone_id, changes)
        except BatchRefused as error:
            if len(batch) == 1:
                outcome.refuse(batch[0].keys, error)
                return
            middle = len(batch) // 2
            self._submit(zone_id, batch[:middle], outcome)
            self._submit(zone_id, batch[middle:], outcome)
        else:
            outcome.made += sum(len(group.keys) for group in batch)
        finally:
            with self._lock:
                self._read.pop(zone_id, None)


class _Outcome:
    """What became of the changes of one request so far."""

    def __init__(self) -> None:
        self.made = 0
        self._refused: list[str] = []
        self._problems: list[BackendError] = []

    def refuse(self, keys: Sequence[EndpointKey], problem: BackendError) -> None:
        """These cannot be made, or the service did not take them."""
        reason = str(problem).removesuffix(" Nothing was applied.")
        self._refused += [f"{describe(key)} ({reason})" for key in keys]
        self._problems.append(problem)

    def describe_stop(self, error: BackendError, left: int) -> BackendError:
        """The error for a request that broke off: what is true of its other changes."""
        told = [f"{self.made} changes of this request were made before"] if self.made else []
        told += [f"{left} were not tried"] if left else []
        told += (
            [f"{len(self._refused)} were not made: {'; '.join(self._refused)[:1000]}"]
            if self._refused
            else []
        )
        return BackendError(f"{error} {', '.join(told)}.".strip() if told else str(error))

    def raise_if_refused(self) -> None:
        """Raise where not all was made. ChangeImpossible, the request must change, where nothing was made and
        nothing ever could be."""
        if not self._refused:
            return
        if not self.made and len(self._problems) == 1:
            raise self._problems[0]
        total = self.made + len(self._refused)
        others = "the others were" if self.made else "so nothing was applied"
        kinds = {type(each) for each in self._problems}
        kind = ChangeImpossible if kinds == {ChangeImpossible} and not self.made else ChangeRefused
        raise kind(
            f"{len(self._refused)} of {total} changes were not made, {others}: "
            f"{'; '.join(self._refused)[:1500]}"
        )


def _build_changes(
    change: SingleChange, read: dict[EndpointKey, RecordSet], zone_id: str
) -> list[dict[str, Any]]:
    """The service's own changes for one of ours. Raises ChangeRefused, ChangeImpossible."""
    changes: list[dict[str, Any]] = []
    if change.old is not None:
        changes.append(_delete(change, read))
    if change.new is not None:
        record_set = build_record_set(change.new, zone_id)
        changes.append({"Action": "CREATE", "ResourceRecordSet": record_set})
    return changes


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
