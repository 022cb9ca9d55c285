"""What backends that keep whole zones share: the changes of one request, each placed in its zone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

import dns.name
import dns.rdataset
import msgspec

from providers.backends.backend import Backend
from providers.backends.change_groups import ChangeGroup, group_changes, settle_group
from providers.backends.errors import BackendError, ChangeImpossible, Outcome
from providers.backends.old_value import NamesInUse, OldValues
from providers.backends.single_change import SingleChange, find_closest_zone, key_of, split_change_set
from providers.backends.zone import PlacedChange, Zone
from providers.backends.zone_value import (
    adjust_where_possible,
    build_endpoint,
    build_rdataset,
    parse_name,
    raise_if_unplaceable,
)
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey

_Z = TypeVar("_Z")
_Rdatasets = dict[EndpointKey, dns.rdataset.Rdataset | None]


class ZoneBackend(Backend, Generic[_Z]):
    """What backends that keep whole zones have in common. `_Z` is what each calls a zone."""

    def __init__(self, domain_filter: DomainFilter | None, encryption_keys: Sequence[bytes]) -> None:
        self._given_filter = domain_filter
        self._old_values = OldValues(encryption_keys)

    def _fetch_zones(self) -> Mapping[str, _Z]:
        """The zones served now, by name. Raises BackendError."""
        raise NotImplementedError

    def adjust(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """Targets as a zone holds them, without properties. What no zone can hold stays as it is."""
        return [adjust_where_possible(endpoint) for endpoint in endpoints]

    def find_problems(self, endpoints: Sequence[Endpoint]) -> Sequence[ChangeImpossible | None]:
        zones = self._fetch_zones()
        return [self._find_problem(endpoint, zones) for endpoint in endpoints]

    def domain_filter(self) -> DomainFilter:
        return self._given_filter or DomainFilter(include=tuple(self._fetch_zones()))

    def _find_problem(self, endpoint: Endpoint, zones: Mapping[str, _Z]) -> ChangeImpossible | None:
        try:
            find_closest_zone(key_of(endpoint), zones, self._given_filter)
            raise_if_unplaceable(endpoint)
        except ChangeImpossible as error:
            return error
        return None


class Draft:
    """Changes placed in a zone one after the other; those of one group are kept or dropped together."""

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self._names = NamesInUse(zone.keys_at)
        self._kept: _Rdatasets = {}
        self._group: _Rdatasets = {}

    def place(self, change: SingleChange, old_values: OldValues) -> PlacedChange:
        """The change made ready. Raises ChangeRefused or ChangeImpossible."""
        name = parse_name(change.key.name)
        held = self._find(name, change.key)
        shown = build_endpoint(name, held) if held is not None else None
        after = old_values.settle(change, shown)
        rdataset = build_rdataset(after, self.zone.default_ttl, held=held) if after is not None else None
        # dnspython silently drops the other types of a node when a CNAME arrives, and the reverse.
        self._names.place(change.key, exists=rdataset is not None)
        if rdataset is None and change.key == EndpointKey(self.zone.domain, "NS", ""):
            raise ChangeImpossible(
                f"The zone {self.zone.domain} would be left without name servers. Nothing was applied; "
                "give its NS record set other targets instead of deleting it."
            )
        self._group[change.key] = rdataset
        return PlacedChange(change.key, name, held, rdataset)

    def keep(self) -> None:
        """The changes of this group are to be made; the next group begins."""
        self._kept |= self._group
        self._group = {}
        self._names.keep()

    def drop(self) -> None:
        """The changes of this group are not made; the next group begins."""
        self._group = {}
        self._names.drop()

    def _find(self, name: dns.name.Name, key: EndpointKey) -> dns.rdataset.Rdataset | None:
        for placed in (self._group, self._kept):
            if key in placed:
                return placed[key]
        return self.zone.find_rdataset(name, key.record_type) if key in self.zone.endpoints else None


class PlacedGroup(msgspec.Struct, frozen=True):
    """Changes of one zone that are made together or not at all, those left out that would change nothing."""

    changes: tuple[PlacedChange, ...]
    keys: tuple[EndpointKey, ...]


class ZoneChanges(Generic[_Z]):
    """Places changes. `find_zone` says which zone a record set belongs to, and `read_zone` what it holds;
    both raise BackendError, which is then the reason for the changes of that zone alone."""

    def __init__(
        self,
        find_zone: Callable[[EndpointKey], _Z],
        read_zone: Callable[[_Z], Zone],
        old_values: OldValues,
    ) -> None:
        self._find_zone = find_zone
        self._read_zone = read_zone
        self._old_values = old_values
        self._drafts: dict[_Z, Draft | BackendError] = {}
        self._touched: list[Draft] = []

    def place(self, change_set: ChangeSet, outcome: Outcome) -> Mapping[_Z, Sequence[PlacedGroup]]:
        """The groups that can be made, by zone; those that cannot go to `outcome`.

        A group over two zones (a record at a zone's apex, its claim in the zone above) is checked as one,
        and is written zone by zone.
        """
        split = split_change_set(change_set)
        outcome.refused += split.refused
        placed: dict[_Z, list[PlacedGroup]] = {}
        for group in group_changes(split.changes):
            for zone, part in self._place_group(group, outcome):
                placed.setdefault(zone, []).append(part)
        return placed

    def _place_group(self, group: ChangeGroup, outcome: Outcome) -> Iterator[tuple[_Z, PlacedGroup]]:
        made, refused = settle_group(group, self._place_change)
        outcome.refused += refused
        for draft in self._touched:
            if made:
                draft.keep()
            else:
                draft.drop()
        self._touched = []
        by_zone: dict[_Z, list[PlacedChange]] = {}
        for zone, change in made:
            by_zone.setdefault(zone, []).append(change)
        for zone, changes in by_zone.items():
            needed = tuple(change for change in changes if change.is_needed)
            yield zone, PlacedGroup(needed, tuple(change.key for change in changes))

    def _place_change(self, change: SingleChange) -> tuple[_Z, PlacedChange]:
        zone = self._find_zone(change.key)
        if zone not in self._drafts:
            self._drafts[zone] = self._draft(zone)
        draft = self._drafts[zone]
        if isinstance(draft, BackendError):
            raise draft
        self._touched.append(draft)
        return zone, draft.place(change, self._old_values)

    def _draft(self, zone: _Z) -> Draft | BackendError:
        # A zone that cannot be read is not asked for again by each change.
        try:
            return Draft(self._read_zone(zone))
        except BackendError as error:
            return error
