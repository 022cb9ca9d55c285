"""The changes of one request, each placed in the zone it belongs to. Shared by all that keep whole zones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from providers.backends.change_groups import ChangeGroup, group_changes, settle_group
from providers.backends.closest_zone import find_closest_zone
from providers.backends.errors import BackendError, ChangeImpossible
from providers.backends.old_value import OldValues
from providers.backends.outcome import Outcome
from providers.backends.single_change import SingleChange, key_of, split_change_set
from providers.backends.zone import PlacedChange, Zone
from providers.backends.zone_draft import Draft
from providers.backends.zone_value import raise_if_unplaceable
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey

_Z = TypeVar("_Z")


def find_problem(
    endpoint: Endpoint, zones: Mapping[str, _Z], domain_filter: DomainFilter | None
) -> ChangeImpossible | None:
    """Why a wanted endpoint can never be held in one of these zones (by name), or None."""
    try:
        find_closest_zone(key_of(endpoint), zones, domain_filter)
        raise_if_unplaceable(endpoint)
    except ChangeImpossible as error:
        return error
    return None


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
        """The groups that can be made, by zone; `outcome` is told of the changes that cannot.

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
