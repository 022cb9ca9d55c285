"""Edits of ConfigMap registries as the ConfigMaps to be written, one after the other; and splits of shards.

A split is four writes, and between any two of them a reader finds every row: the shard closes itself for
other writers, the new shards are written, the index names them, the shard drops what it gave away. A writer
that finds a closed shard writes a new generation of the index first: then the one that closed it cannot go
on. The first shard needs no closing: the index is in it, so its split ends in one write.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from providers.registries.configmap.layout import format_index, format_map_name, format_mark
from providers.registries.configmap.registry import (
    INDEX,
    INTENTS,
    RECORDS,
    SHARD,
    Entries,
    MapData,
    Registry,
    build_registry,
    measure_data,
)
from providers.registries.configmap.rows import NO_ENTRY, format_rows
from providers.registries.errors import RegistryError
from providers.registries.kubernetes_object import read_metadata
from providers.wire.endpoint import EndpointKey

# A Kubernetes API takes 1 MiB of data in one ConfigMap. What is between is for whatever else is put in it.
MAX_SHARD_BYTES = 900 * 1024
_MAX_MAP_BYTES = 1024 * 1024
# A shard that was split has room to grow.
_FILL = 0.6


class NoRoom(RegistryError):
    """Rows that no ConfigMap has room for."""


class MapWrite(NamedTuple):
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

    def add(self, owner_id: str, wanted: Entries) -> None:
        """Make an owner's registry say this of these record sets (nothing, where an entry is empty). What it
        says already is not written. Raises RegistryError."""
        standing = self._registries.get(owner_id)
        entries = standing.entries if standing else {}
        edits = {
            key: entry
            for key, entry in wanted.items()
            if not entry.says_the_same_as(entries.get(key, NO_ENTRY))
        }
        if not edits:
            return
        registry = standing or self._begin(owner_id)
        if registry.is_closed:
            index = msgspec.structs.replace(registry.index, generation=registry.index.generation + 1)
            registry = replace(registry, index=index, is_closed=False)
            self._write(registry, 0)
        edited = registry.edited(edits)
        # From the last shard to the first: a split changes the numbers of those behind it.
        for number in reversed(_list_shards(edited, edits)):
            cuts = find_cuts(edited, number, self._max_bytes)
            if cuts:
                registry = self._split(registry, number, cuts)
                edited = registry.edited(edits)
        for number in _list_shards(edited, edits):
            self._write(edited, number, has_edits=True)
        self._registries[owner_id] = edited

    def _begin(self, owner_id: str) -> Registry:
        name = format_map_name(owner_id)
        standing = self._maps.get(name)
        if standing is not None and not standing.is_empty:
            raise NoRoom(
                f"There is a ConfigMap {name} in the namespace {read_metadata(standing.obj, 'namespace')} "
                "that is no registry: it has no `records`. It was left as it was."
            )
        return build_registry(owner_id)

    def _split(self, registry: Registry, number: int, starts: Sequence[EndpointKey]) -> Registry:
        """Split a shard before the record sets `starts`. No row is changed here."""
        taken = {name for name, data in self._maps.items() if data.mark is None}
        after = registry.split(number, starts, taken)
        if number:
            self._write(registry, number, cut=after.index.generation)
        elif registry.index.generation == 0:
            self._write(registry, 0)  # a shard without an index belongs to nothing
        for new in range(number + 1, number + 1 + len(starts)):
            self._write(after, new)
        self._write(after, 0)
        if number:
            self._write(after, number)
        return after

    def _write(self, registry: Registry, number: int, *, cut: int = 0, has_edits: bool = False) -> None:
        name = registry.index.shards[number].name
        data = format_map(registry, number, cut=cut)
        if _measure(registry, number, data) > _MAX_MAP_BYTES:
            raise NoRoom(f"The ConfigMap {name} would take more than 1 MiB, which no Kubernetes API accepts.")
        self.writes.append(MapWrite(name, data, has_edits))


def format_map(registry: Registry, number: int, *, cut: int = 0) -> dict[str, str]:
    """What a shard's ConfigMap has under our keys. `cut` is the generation that a split of it makes."""
    shard = registry.index.shards[number]
    entries = [entry for _, entry in sorted(registry.shards[number].items())]
    records = [row.raw for entry in entries for row in entry.rows]
    intents = [row.raw for entry in entries for row in entry.intents]
    data = {RECORDS: format_rows(records)}
    if intents:
        data[INTENTS] = format_rows(intents)
    if number:
        data[SHARD] = format_mark(shard, cut)
    else:
        counts = [sum(len(entry.rows) for entry in each.values()) for each in registry.shards]
        data[INDEX] = format_index(registry.index, counts)
    return data


def find_cuts(registry: Registry, number: int, max_bytes: int) -> list[EndpointKey]:
    """Where a shard that is too large is split: the first record set of each new shard.

    The answer rests on what is in the shard, not on any order. It is empty too where splitting is no help.
    """
    size = _measure(registry, number, format_map(registry, number))
    if size <= max_bytes:
        return []
    start, end = registry.index.range_of(number)
    weights = {
        key: sum(len(row.raw) + len(",\n") for row in (*entry.rows, *entry.intents))
        for key, entry in sorted(registry.shards[number].items())
        if start <= key < end
    }
    size -= sum(weights.values())
    cuts: list[EndpointKey] = []
    for key, weight in weights.items():
        if size + weight > int(max_bytes * _FILL) and key > start:
            cuts.append(key)
            size = 0
        size += weight
    return cuts


def _list_shards(registry: Registry, edits: Entries) -> list[int]:
    """The numbers of the shards that have edits, in order."""
    return sorted({registry.index.number_of(key) for key in edits})


def _measure(registry: Registry, number: int, data: Mapping[str, str]) -> int:
    """The bytes of all data of a shard's ConfigMap, which has this under our keys."""
    standing = registry.maps.get(registry.index.shards[number].name)
    return measure_data(data) + (standing.other_bytes if standing else 0)
