"""Edits of ConfigMap registries as the ConfigMaps to be written, one after the other; and splits of shards.

A split is four writes, and between any two of them a reader finds every row: the shard closes itself for
other writers, the new shards are written, the index names them, the shard drops what it gave away. Whoever
writes while a shard is closed writes a new generation of the index first: then whoever closed it cannot go
on. The first shard needs no closing: the index is in it, so its split ends in one write.
"""

from bisect import bisect_right
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
    ShardRows,
    build_registry,
    measure_data,
)
from providers.registries.configmap.rows import NO_ENTRY, Entry, format_rows
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
        edited = _edit(registry, edits)
        # From the last shard to the first: a split changes the numbers of those behind it.
        for number in reversed(range(len(registry.maps))):
            is_edited = edited.maps[number] is not registry.maps[number]
            if is_edited and _measure(edited, number) > self._max_bytes:
                registry = self._split(registry, number, find_cuts(edited, number, self._max_bytes))
                edited = _edit(registry, edits)
        for number, (before, after) in enumerate(zip(registry.maps, edited.maps, strict=True)):
            if after is not before:
                self._write(edited, number, has_edits=True)
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
        standing = registry.maps[number]
        parts: list[dict[EndpointKey, Entry]] = [{} for _ in range(len(starts) + 1)]
        for key, entry in standing.entries.items():
            parts[bisect_right(starts, key)][key] = entry
        kept = replace(standing, entries=parts[0])
        new = [ShardRows(registry.owner_id, part) for part in parts[1:]]
        maps = (*registry.maps[:number], kept, *new, *registry.maps[number + 1 :])
        after = Registry(registry.owner_id, index, maps)
        if number:
            self._write(registry, number, cut=index.generation)
        elif registry.index.generation == 0:
            self._write(registry, 0)  # a shard without an index belongs to nothing
        for each in range(number + 1, number + len(parts)):
            self._write(after, each)
        self._write(after, 0)
        if number:
            self._write(after, number)
        return after

    def _write(self, registry: Registry, number: int, *, cut: int = 0, has_edits: bool = False) -> None:
        name = registry.index.shards[number].name
        data = format_map(registry, number, cut=cut)
        if registry.maps[number].other_bytes + measure_data(data) > _MAX_MAP_BYTES:
            raise NoRoom(f"The ConfigMap {name} would take more than 1 MiB, which no Kubernetes API accepts.")
        self.writes.append(MapWrite(name, data, has_edits))


def format_map(registry: Registry, number: int, *, cut: int = 0) -> dict[str, str]:
    """What a shard's ConfigMap has under our keys. `cut` is the generation that a split of it makes."""
    found = registry.maps[number]
    entries = [found.entries[key] for key in sorted(found.entries)]
    records = [row.raw for entry in entries for row in entry.rows]
    intents = [intent.raw for entry in entries for intent in entry.intents]
    data = {RECORDS: format_rows([*records, *found.unreadable])}
    if intents or found.unreadable_intents:
        data[INTENTS] = format_rows([*intents, *found.unreadable_intents])
    if number:
        data[SHARD] = format_mark(registry.index.shards[number], cut)
    else:
        data[INDEX] = format_index(registry.index, [each.row_count for each in registry.maps])
    return data


def find_cuts(registry: Registry, number: int, max_bytes: int) -> list[EndpointKey]:
    """Where a shard that is too large is split: the first record set of each new shard.

    The answer rests on what is in the shard, not on any order. Raises NoRoom where splitting is no help.
    """
    entries, shard = registry.maps[number].entries, registry.index.shards[number]
    weights = {
        key: sum(len(row.raw) + len(",\n") for row in (*entry.rows, *entry.intents))
        for key, entry in entries.items()
        if registry.index.number_of(key) == number
    }
    size = _measure(registry, number) - sum(weights.values())
    cuts: list[EndpointKey] = []
    for key in sorted(weights):
        if size + weights[key] > int(max_bytes * _FILL) and key > shard.place:
            cuts.append(key)
            size = 0
        size += weights[key]
    if not cuts:
        raise NoRoom(f"The ConfigMap {shard.name} has no room for one more row.")
    return cuts


def _measure(registry: Registry, number: int) -> int:
    """The bytes of all data of a shard's ConfigMap."""
    return registry.maps[number].other_bytes + measure_data(format_map(registry, number))


def _edit(registry: Registry, edits: Edits) -> Registry:
    """The registry with these edits made. A shard without any is the same value as before."""
    maps = list(registry.maps)
    split: dict[int, dict[EndpointKey, Entry]] = {}
    for key, entry in edits.items():
        split.setdefault(registry.index.number_of(key), {})[key] = entry
    for number, mine in split.items():
        entries = {**maps[number].entries, **mine}
        kept = {key: entry for key, entry in entries.items() if entry != NO_ENTRY}
        maps[number] = replace(maps[number], entries=kept)
    return replace(registry, maps=tuple(maps))
