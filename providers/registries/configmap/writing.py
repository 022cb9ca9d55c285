"""Edits of ConfigMap registries as the ConfigMaps to be written, one after the other; and splits of shards.

A split is four writes, and between any two of them a reader finds every row: the shard closes itself for
other writers, the new shards are written, the index names them, the shard drops what it gave away. A writer
that finds a closed shard writes a new generation of the index first: then the one that closed it cannot go
on. The first shard needs no closing: the index is in it, so its split ends in one write.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from providers.registries.configmap.layout import (
    format_index,
    format_map_name,
    format_mark,
    split_shard,
)
from providers.registries.configmap.registry import (
    INDEX,
    INTENTS,
    RECORDS,
    SHARD,
    MapData,
    Registry,
    build_registry,
    measure_data,
)
from providers.registries.configmap.rows import NO_ENTRY, Entry, RowList, format_rows
from providers.registries.errors import RegistryError
from providers.registries.kubernetes_object import read_metadata
from providers.wire.endpoint import EndpointKey

# A Kubernetes API takes 1 MiB of data in one ConfigMap. What is between is for whatever else is put in it.
MAX_SHARD_BYTES = 900 * 1024
_MAX_MAP_BYTES = 1024 * 1024
# A shard that was split has room to grow.
_FILL = 0.6

# How entries are to stand afterwards; an empty one: not at all.
Edits = Mapping[EndpointKey, Entry]


class NoRoom(RegistryError):
    """Rows that no ConfigMap has room for."""


@dataclass(frozen=True)
class MapWrite:
    """What a ConfigMap is to have under our keys, and whether edits are in it: a split changes no row."""

    name: str
    data: Mapping[str, str]
    has_edits: bool


class WritePlan:
    """The writes of edits, in their order. `maps` are all ConfigMaps of the namespace.

    All of them are worked out before the first is made, so that what has no room is refused in time.
    """

    def __init__(
        self, registries: Mapping[str, Registry], maps: Mapping[str, MapData], max_bytes: int
    ) -> None:
        self.writes: list[MapWrite] = []
        self._registries = dict(registries)
        self._maps = maps
        self._max_bytes = max_bytes

    def add(self, owner_id: str, edits: Edits) -> None:
        """Make these edits in an owner's registry, a new one if there is none. Raises RegistryError."""
        if not edits:
            return
        registry = self._registries.get(owner_id) or self._begin(owner_id)
        if registry.is_closed:
            index = msgspec.structs.replace(registry.index, generation=registry.index.generation + 1)
            registry = replace(registry, index=index, is_closed=False)
            self._write(registry, 0)
        entries = {key: entry for key, entry in {**registry.rows, **edits}.items() if entry != NO_ENTRY}
        edited = replace(registry, rows=entries)
        data = _format_edited(edited, edits)
        layout = edited.index
        # From the last shard to the first: a split changes the numbers of those behind it.
        for number in reversed(data):
            texts = data[number] if edited.index is layout else format_map(edited, number)
            if _measure(edited, number, texts) > self._max_bytes:
                registry = self._split(registry, number, find_cuts(edited, number, self._max_bytes))
                edited = replace(registry, rows=entries)
        if edited.index is not layout:
            data = _format_edited(edited, edits)
        for number, texts in data.items():
            self._append(edited, number, texts, has_edits=True)
        self._registries[owner_id] = edited

    def _begin(self, owner_id: str) -> Registry:
        name = format_map_name(owner_id)
        standing = self._maps.get(name)
        if standing is not None and not standing.is_empty:
            raise NoRoom(
                f"There is a ConfigMap {name} in the namespace {read_metadata(standing.obj, 'namespace')} "
                "that is no registry: it has no `records`. It was left as it is."
            )
        return build_registry(owner_id)

    def _split(self, registry: Registry, number: int, starts: list[EndpointKey]) -> Registry:
        """Split a shard before the record sets `starts`. No row is changed here."""
        taken = {name for name, data in self._maps.items() if not data.is_shard}
        index = split_shard(registry.index, number, starts, taken)
        after = replace(registry, index=index)
        if number:
            self._write(registry, number, cut=index.generation)
        elif registry.index.generation == 0:
            self._write(registry, 0)  # a shard without an index belongs to nothing
        for new in range(number + 1, number + 1 + len(starts)):
            self._write(after, new)
        self._write(after, 0)
        if number:
            self._write(after, number)
        return after

    def _write(self, registry: Registry, number: int, *, cut: int = 0) -> None:
        self._append(registry, number, format_map(registry, number, cut=cut), has_edits=False)

    def _append(self, registry: Registry, number: int, data: dict[str, str], *, has_edits: bool) -> None:
        name = registry.index.shards[number].name
        if _measure(registry, number, data) > _MAX_MAP_BYTES:
            raise NoRoom(f"The ConfigMap {name} would take more than 1 MiB, which no Kubernetes API accepts.")
        self.writes.append(MapWrite(name, data, has_edits))


def _format_edited(registry: Registry, edits: Edits) -> dict[int, dict[str, str]]:
    """What each shard that has edits is to have, by number and in that order."""
    numbers = sorted({registry.index.number_of(key) for key in edits})
    return {number: format_map(registry, number) for number in numbers}


def format_map(registry: Registry, number: int, *, cut: int = 0) -> dict[str, str]:
    """What a shard's ConfigMap has under our keys. `cut` is the generation that a split of it makes."""
    shard = registry.index.shards[number]
    standing = registry.maps.get(shard.name)
    unreadable, unreadable_intents = standing.lists if standing else (RowList(), RowList())
    entries = [registry.rows[key] for key in _list_keys(registry, number)]
    entries += registry.misplaced.get(shard.name, {}).values()
    records = [row.raw for entry in entries for row in entry.rows] + [*unreadable.unreadable]
    intents = [row.raw for entry in entries for row in entry.intents] + [*unreadable_intents.unreadable]
    data = {RECORDS: format_rows(records)}
    if intents:
        data[INTENTS] = format_rows(intents)
    if number:
        data[SHARD] = format_mark(shard, cut)
    else:
        places = [each.place for each in registry.index.shards]
        counts = Counter(bisect_right(places, key) - 1 for key, entry in registry.rows.items() if entry.rows)
        data[INDEX] = format_index(registry.index, [counts[each] for each in range(len(places))])
    return data


def find_cuts(registry: Registry, number: int, max_bytes: int) -> list[EndpointKey]:
    """Where a shard that is too large is split: the first record set of each new shard.

    The answer rests on what is in the shard, not on any order. Raises NoRoom where splitting is no help.
    """
    shard = registry.index.shards[number]
    weights = {}
    for key in _list_keys(registry, number):
        entry = registry.rows[key]
        weights[key] = sum(len(row.raw) + len(",\n") for row in (*entry.rows, *entry.intents))
    size = _measure(registry, number, format_map(registry, number)) - sum(weights.values())
    cuts: list[EndpointKey] = []
    for key, weight in weights.items():
        if size + weight > int(max_bytes * _FILL) and key > shard.place:
            cuts.append(key)
            size = 0
        size += weight
    if not cuts:
        raise NoRoom(f"The ConfigMap {shard.name} has no room for one more row.")
    return cuts


def _list_keys(registry: Registry, number: int) -> list[EndpointKey]:
    """The record sets of a shard, in their order."""
    start, end = registry.index.range_of(number)
    return sorted(key for key in registry.rows if start <= key < end)


def _measure(registry: Registry, number: int, data: Mapping[str, str]) -> int:
    """The bytes of all data of a shard's ConfigMap, which has this under our keys."""
    standing = registry.maps.get(registry.index.shards[number].name)
    return measure_data(data) + (standing.other_bytes if standing else 0)
