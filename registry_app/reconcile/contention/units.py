"""A name with its set identifier: who wants it, who owns it, and where these differ. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from providers.wire.domain_filter import DomainFilter
from registry_app.models import Contention, OwnershipState

Kind = Contention.Kind
# What ExternalDNS manages without --managed-record-types.
DEFAULT_TYPES = frozenset({"A", "AAAA", "CNAME"})
_ADDRESSES = frozenset({"A", "AAAA"})


@dataclass(frozen=True)
class Wisher:
    """An instance at its guard endpoint, and what it acts on. `set_since`: since when its desired set is the
    same."""

    guard_endpoint_id: int
    slug: str
    instance: str
    owner_pk: int
    owner_id: str
    mode: str
    is_stale: bool
    set_since: datetime
    domain_filter: DomainFilter
    managed_types: frozenset[str]

    @cached_property
    def _matches_all(self) -> bool:
        return self.domain_filter.matches_everything

    def wants(self, name: str, record_type: str) -> bool:
        """Whether it acts on what it posted: ExternalDNS applies its filter and types afterwards."""
        return record_type in self.managed_types and (self._matches_all or self.domain_filter.matches(name))


class Wish(NamedTuple):
    """An endpoint that an instance wants."""

    wisher: Wisher
    record_type: str
    targets: Sequence[str]
    since: datetime


class Held(NamedTuple):
    """A record set that is there. `owner_id` is empty for one that nobody owns, as far as it is known."""

    pk: int
    record_type: str
    state: str
    owner_pk: int | None
    owner_id: str
    since: datetime


@dataclass(frozen=True)
class Unit:
    """All that is wanted and all that is there at a name with its set identifier."""

    name: str
    set_identifier: str
    wishes: Sequence[Wish]
    held: Sequence[Held]

    @cached_property
    def wanting_owners(self) -> list[str]:
        """The owners whose instances want it, in order."""
        return sorted({wish.wisher.owner_id for wish in self.wishes})

    @cached_property
    def wishers(self) -> Mapping[int, Sequence[Wish]]:
        """What each guard endpoint wants here."""
        found: dict[int, list[Wish]] = {}
        for wish in self.wishes:
            found.setdefault(wish.wisher.guard_endpoint_id, []).append(wish)
        return found

    @property
    def types_wanted(self) -> set[str]:
        """The record types that anybody wants."""
        return {wish.record_type for wish in self.wishes}


class Found(NamedTuple):
    """One contention of a unit: the record types it is about, and since when it can be at the earliest."""

    kind: Kind
    record_types: list[str]
    since: datetime


@dataclass(frozen=True)
class Judge:
    """`complete` are the owners of which all is known: all of their instances here have a desired set that is
    not stale; with since when their desired sets are what they are."""

    complete: Mapping[str, datetime]

    def find(self, unit: Unit) -> Iterator[Found]:
        """Every contention of a unit."""
        finders: tuple[Callable[[Unit], Iterator[Found]], ...] = (
            _find_several,
            _find_owned_by_other,
            _find_not_owned,
            self._find_unwanted,
            _find_absent,
        )
        for finder in finders:
            yield from finder(unit)

    def _find_unwanted(self, unit: Unit) -> Iterator[Found]:
        left = [
            each
            for each in unit.held
            if each.owner_id in self.complete and each.record_type not in unit.types_wanted
        ]
        if left:
            since = max(max(each.since, self.complete[each.owner_id]) for each in left)
            yield Found(Kind.UNWANTED, _sort({each.record_type for each in left}), since)


def _find_several(unit: Unit) -> Iterator[Found]:
    types = _sort(unit.types_wanted)
    if len(unit.wanting_owners) > 1:
        firsts = (
            min(w.since for w in unit.wishes if w.wisher.owner_id == each) for each in unit.wanting_owners
        )
        yield Found(Kind.SEVERAL_OWNERS, types, sorted(firsts)[1])
    owner_of = {pk: wishes[0].wisher.owner_id for pk, wishes in unit.wishers.items()}
    if len(set(owner_of.values())) < len(owner_of):
        firsts = (min(wish.since for wish in wishes) for wishes in unit.wishers.values())
        yield Found(Kind.SEVERAL_INSTANCES, types, sorted(firsts)[1])


def _find_owned_by_other(unit: Unit) -> Iterator[Found]:
    if not unit.wishes:
        return
    others = [each for each in unit.held if each.owner_id and set(unit.wanting_owners) - {each.owner_id}]
    if others:
        yield Found(Kind.OWNED_BY_OTHER, _sort({each.record_type for each in others}), _later(unit, others))


def _find_not_owned(unit: Unit) -> Iterator[Found]:
    wanted = unit.types_wanted
    found = [each for each in unit.held if not each.owner_id and _meets(each.record_type, wanted)]
    if found:
        yield Found(Kind.NOT_OWNED, _sort({each.record_type for each in found}), _later(unit, found))


def _find_absent(unit: Unit) -> Iterator[Found]:
    missing = unit.types_wanted - {each.record_type for each in unit.held}
    if missing:
        since = min(wish.since for wish in unit.wishes if wish.record_type in missing)
        yield Found(Kind.ABSENT, _sort(missing), since)


def _later(unit: Unit, held: Iterable[Held]) -> datetime:
    """When both were so: wanted, and there."""
    return max(min(wish.since for wish in unit.wishes), min(each.since for each in held))


def _meets(record_type: str, wanted: Set[str]) -> bool:
    """Whether a record set of this type is in the way of what is wanted: it is the same, or a CNAME that
    cannot be beside it, or the other address type, which has the same claim in some registries."""
    if not wanted:
        return False
    is_address = record_type in _ADDRESSES and bool(wanted & _ADDRESSES)
    return is_address or record_type in wanted or record_type == "CNAME" or "CNAME" in wanted


def _sort(types: Iterable[str]) -> list[str]:
    return sorted(set(types))


def find_overlap(unit: Unit) -> dict[str, list[Wisher]]:
    """By owner id, the instances that want different things here under that one id, as far as their desired
    sets are not stale."""
    by_owner: dict[str, list[tuple[Wisher, object]]] = {}
    for wishes in unit.wishers.values():
        wisher = wishes[0].wisher
        if not wisher.is_stale:
            values = {wish.record_type: sorted(set(wish.targets)) for wish in wishes}
            by_owner.setdefault(wisher.owner_id, []).append((wisher, values))
    return {
        owner_id: [wisher for wisher, _ in some]
        for owner_id, some in by_owner.items()
        if any(values != some[0][1] for _, values in some)
    }


def is_without_owner(held: Held) -> bool:
    """Whether it has no claim: then it can be adopted."""
    return held.state == OwnershipState.UNMANAGED
