"""The ConfigMap registries of a namespace, each put together from the data of its ConfigMaps."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from providers.registries.configmap.claims import read_claim
from providers.registries.configmap.layout import (
    Index,
    Shard,
    UnreadableIndex,
    build_index,
    parse_index,
    parse_mark,
)
from providers.registries.configmap.rows import NO_ENTRY, Entry, Row
from providers.registries.errors import RegistryError
from providers.registries.stored_claim import StoredClaim
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_shape import raise_if_too_many

_MISPLACED = "Its row stands in another shard than the index says."


class UnreadableRegistry(RegistryError):
    """A registry whose rows cannot all be told: never taken for an empty one. Its ConfigMap is named."""


@dataclass(frozen=True)
class Registry:
    """The registry of one owner: the layout of its shards, and the rows of each of them.

    `has_strays`: somebody put a row into another shard than the one it belongs in.
    """

    owner_id: str
    index: Index
    maps: tuple[MapRows, ...]
    has_strays: bool = False

    @cached_property
    def entries(self) -> Mapping[EndpointKey, Entry]:
        """All that is said of each record set, of others' and unmanaged ones too."""
        found: dict[EndpointKey, Entry] = {}
        for each in self.maps:
            twice = {key: found[key] for key in found.keys() & each.entries.keys()} if self.has_strays else {}
            found.update(each.entries)
            for key, one in twice.items():
                found[key] = Entry(one.rows + found[key].rows, one.intents + found[key].intents)
        return found

    def claims(self) -> Sequence[StoredClaim]:
        """What this owner claims, each record set once."""
        if self.has_strays:
            return MapRows(self.owner_id, self.entries).claims
        return [claim for each in self.maps for claim in each.claims]

    def claim_of(self, key: EndpointKey) -> StoredClaim | None:
        """What this owner claims of one record set."""
        return read_claim(self.owner_id, key, self.entries.get(key, NO_ENTRY))

    def is_doubtful(self, key: EndpointKey) -> bool:
        """Whether something cannot be believed that is said of a record set."""
        claim = self.claim_of(key)
        rows = self.entries.get(key, NO_ENTRY).rows
        return bool(claim and claim.problem) or any(row.problem for row in rows)

    def count_unreadable(self) -> int:
        """How many rows speak for no record set anybody could tell."""
        return sum(len(each.unreadable) + len(each.unreadable_intents) for each in self.maps)

    def number_of(self, key: EndpointKey) -> int:
        """Which of the shards the record set belongs in."""
        return bisect_right(self.index.shards, key, key=lambda shard: shard.place) - 1


def build_registry(owner_id: str) -> Registry:
    """The registry of an owner who has none yet, whether one can be made or not."""
    return Registry(owner_id, build_index(f"{owner_id}-storage", 0), (MapRows(owner_id, {}),))


def read_registries(maps: Mapping[str, MapData], max_items: int) -> dict[str, Registry]:
    """All registries in the ConfigMaps of a namespace, by owner. Raises UnreadableRegistry."""
    registries: dict[str, Registry] = {}
    for name, data in maps.items():
        parsed = parse_map_name(name)
        if parsed is None:
            continue
        if parsed.shard:
            _raise_if_orphaned(name.removesuffix(f"-{parsed.shard}"), data, maps)
        elif RECORDS in data.texts:
            registries[parsed.owner_id] = read_registry(parsed.owner_id, maps, max_items)
        elif _is_index(data.texts.get(INDEX), name):
            raise UnreadableRegistry(f"The ConfigMap {name} has lost its `records`.")
    return registries


def read_registry(owner_id: str, maps: Mapping[str, MapData], max_items: int) -> Registry:
    """The registry of an owner out of ConfigMaps by name, the first of which is there.

    A first map without index is all there is, as the registry proposal has it. Raises UnreadableRegistry.
    """
    first = format_map_name(owner_id)
    text = maps[first].texts.get(INDEX)
    try:
        index = parse_index(text, first) if text is not None else build_index(first, 0)
    except UnreadableIndex as error:
        raise _unreadable(first, str(error)) from error
    ends = [shard.place for shard in index.shards[1:]]
    found: list[MapRows] = []
    has_strays, count = False, 0
    for shard, end in zip(index.shards, [*ends, None], strict=True):
        data = maps.get(shard.name)
        if data is None or RECORDS not in data.texts:
            raise _unreadable(first, f"its index names {shard.name}, which is not there or has no `records`")
        was_cut = bool(found) and 0 < _read_cut(first, shard, data) <= index.generation
        try:
            rows = data.rows
            count += rows.count
            raise_if_too_many(count, max_items)
        except WireError as error:
            raise _unreadable(shard.name, f"its rows cannot be read ({error.reason})") from error
        if not rows.is_between(shard.place, end):
            rows = _settle(rows, shard.place, end, was_cut=was_cut)
            has_strays = has_strays or not was_cut
        found.append(rows)
    return Registry(owner_id, index, tuple(found), has_strays)


def _is_index(text: str | None, first: str) -> bool:
    try:
        return text is not None and bool(parse_index(text, first))
    except UnreadableIndex:
        return False


def _read_cut(first: str, shard: Shard, data: MapData) -> int:
    """The generation that a cut of a further shard makes or made; 0 for none."""
    try:
        mark = parse_mark(data.texts.get(SHARD, ""))
    except UnreadableIndex as error:
        raise _unreadable(shard.name, str(error)) from error
    if (mark.digest, mark.start) != (shard.digest, shard.start):
        raise _unreadable(shard.name, f"it belongs to another layout than the index in {first} describes")
    return mark.cut


def _settle(rows: MapRows, start: EndpointKey, end: EndpointKey | None, *, was_cut: bool) -> MapRows:
    """Without what is left over from a cut, and with what somebody put in the wrong place told."""
    entries = {}
    for key, entry in rows.entries.items():
        if start <= key and (end is None or key < end):
            entries[key] = entry
        elif not was_cut:
            entries[key] = Entry(_misplaced(entry.rows), _misplaced(entry.intents))
    return replace(rows, entries=entries)


def _misplaced(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple(msgspec.structs.replace(row, problem=row.problem or _MISPLACED) for row in rows)


def _raise_if_orphaned(first: str, data: MapData, maps: Mapping[str, MapData]) -> None:
    """A shard without an index, which is written before any shard: somebody else deleted it, or wrote over
    it, and what is left is not the whole registry."""
    has_index = first in maps and {RECORDS, INDEX} <= maps[first].texts.keys()
    if not has_index and RECORDS in data.texts and data.is_shard():
        raise UnreadableRegistry(
            f"The ConfigMap {first} is gone or has lost its index, while its shard {data.name} is there."
        )


def _unreadable(name: str, reason: str) -> UnreadableRegistry:
    return UnreadableRegistry(f"The ConfigMap {name} cannot be read as a registry: {reason}.")
