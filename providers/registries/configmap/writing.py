"""Edits of ConfigMap registries as the ConfigMaps to be written, one after the other; and shards cut in two.

A cut is five writes, and between any two of them a reader finds every row, and a writer knows how to go on:
the index announces it, the shard closes itself for other writers, the new shards are written, the index names
them, the shard drops what it gave away. Whoever finds a cut begun finishes it first. A cut of the first shard
needs no closing of its own: announcing it is writing to that shard.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec

from providers.registries.configmap.layout import Shard, announce_cut, finish_cut, format_index, format_mark
from providers.registries.configmap.registry import Registry, build_registry
from providers.registries.configmap.rows import NO_ENTRY, Entry, Row, UnreadableRow, format_rows
from providers.registries.errors import RegistryError
from providers.wire.endpoint import EndpointKey

# A Kubernetes API takes 1 MiB of data in one ConfigMap. What is between is for whatever else is put in it.
MAX_SHARD_BYTES = 900 * 1024
_MAX_MAP_BYTES = 1024 * 1024
# A shard that was cut has room to grow.
_FILL = 0.6

# How entries are to stand afterwards; an empty one: not at all.
Edits = Mapping[EndpointKey, Entry]


class NoRoom(RegistryError):
    """Rows that no ConfigMap has room for."""


@dataclass(frozen=True)
class MapWrite:
    """What a ConfigMap is to have under our keys, and whether edits are in it: a mere cut changes no row."""

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
        registry = self._finish_cut(self._registries.get(owner_id) or self._begin(owner_id))
        # From the last shard to the first: a cut changes the numbers of those behind it.
        for number, mine in sorted(_split_edits(registry, edits).items(), reverse=True):
            future = _edit(registry, number, mine)
            if _measure(future, number) > self._max_bytes:
                registry = self._finish_cut(self._announce_cut(registry, future, number))
        for number, mine in sorted(_split_edits(registry, edits).items()):
            registry = _count(_edit(registry, number, mine))
            self._write(registry, number, has_edits=True)
        self._registries[owner_id] = registry

    def _begin(self, owner_id: str) -> Registry:
        name = format_map_name(owner_id)
        if name in self._maps and not self._maps[name].is_empty():
            raise NoRoom(
                f"There is a ConfigMap {name} in the namespace {self._maps[name].namespace} that is no "
                "registry: it has no `records`. It was left as it is."
            )
        return build_registry(owner_id)

    def _announce_cut(self, registry: Registry, future: Registry, number: int) -> Registry:
        """Cut a shard so that what it is to hold (`future`) finds room. No row is written here."""
        starts = find_cuts(future, number, self._max_bytes)
        counts = [0] * (len(starts) + 1)
        for key, entry in future.maps[number].entries.items():
            counts[bisect_right(starts, key)] += len(entry.rows)
        taken = {name for name, data in self._maps.items() if not data.is_shard()}
        index = announce_cut(registry.index, registry.index.shards[number].name, starts, counts, taken)
        announced = replace(registry, index=index)
        self._write(announced, 0)
        return announced

    def _finish_cut(self, registry: Registry) -> Registry:
        """Take a cut that is announced to its end, whoever began it."""
        cutting = registry.index.cutting
        if cutting is None:
            return registry
        index = finish_cut(registry.index)
        number = registry.index.number_of(cutting.name)
        parts = _divide(registry.maps[number], [shard.place for shard in cutting.into])
        after = replace(
            registry, index=index, maps=(*registry.maps[:number], *parts, *registry.maps[number + 1 :])
        )
        if number:
            self._write(registry, number, cut=index.generation)
        for new in range(number + 1, number + len(parts)):
            self._write(after, new)
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
    """What a shard's ConfigMap has under our keys. `cut` is the generation that a cut of it makes."""
    found, shard = registry.maps[number], registry.index.shards[number]
    entries = [found.entries[key] for key in sorted(found.entries)]
    data = {RECORDS: _format_list((row for each in entries for row in each.rows), found.unreadable)}
    if found.unreadable_intents or any(each.intents for each in entries):
        intents = (intent for each in entries for intent in each.intents)
        data[INTENTS] = _format_list(intents, found.unreadable_intents)
    data[SHARD if number else INDEX] = format_mark(shard, cut) if number else format_index(registry.index)
    return data


def find_cuts(registry: Registry, number: int, max_bytes: int) -> list[EndpointKey]:
    """Where a shard that is too large is cut: the first record set of each new shard.

    The answer rests on what is in the shard, not on any order. Raises NoRoom where cutting is no help.
    """
    shard, entries = registry.index.shards[number], registry.maps[number].entries
    if not all(registry.number_of(key) == number for key in entries):
        raise NoRoom(f"The ConfigMap {shard.name} is full, and has rows that belong in another shard.")
    size = _measure(_edit(registry, number, dict.fromkeys(entries, NO_ENTRY)), number)
    cuts: list[EndpointKey] = []
    for key in sorted(entries):
        weight = sum(len(row.raw) + len(",\n") for row in (*entries[key].rows, *entries[key].intents))
        if size + weight > int(max_bytes * _FILL) and key != shard.start:
            cuts.append(key)
            size = 0
        size += weight
    if not cuts:
        raise NoRoom(f"The ConfigMap {shard.name} has no room for one more row.")
    return cuts


def _measure(registry: Registry, number: int) -> int:
    """The bytes of all data of a shard's ConfigMap."""
    return registry.maps[number].other_bytes + measure_data(format_map(registry, number))


def _split_edits(registry: Registry, edits: Edits) -> dict[int, dict[EndpointKey, Entry]]:
    """The edits by the number of the shard they are made in."""
    split: dict[int, dict[EndpointKey, Entry]] = {}
    for key, entry in edits.items():
        split.setdefault(registry.number_of(key), {})[key] = entry
    return split


def _edit(registry: Registry, number: int, edits: Edits) -> Registry:
    """The registry with these edits made in one shard. All else in it stays."""
    found = registry.maps[number]
    entries = {key: entry for key, entry in {**found.entries, **edits}.items() if entry != NO_ENTRY}
    maps = (*registry.maps[:number], replace(found, entries=entries), *registry.maps[number + 1 :])
    return replace(registry, maps=maps)


def _count(registry: Registry) -> Registry:
    """In a single map it costs nothing to keep the count of rows right."""
    if len(registry.maps) > 1:
        return registry
    rows = sum(len(entry.rows) for entry in registry.maps[0].entries.values())
    shard: Shard = msgspec.structs.replace(registry.index.shards[0], rows=rows)
    return replace(registry, index=msgspec.structs.replace(registry.index, shards=(shard,)))


def _divide(found: MapRows, places: list[EndpointKey]) -> list[MapRows]:
    """The rows of a shard that stay in it, and those that go to each new one. What else is in it stays."""
    parts: list[dict[EndpointKey, Entry]] = [{} for _ in range(len(places) + 1)]
    for key, entry in found.entries.items():
        parts[bisect_right(places, key)][key] = entry
    return [replace(found, entries=parts[0]), *(MapRows(found.owner_id, part) for part in parts[1:])]


def _format_list(rows: Iterable[Row], unreadable: Iterable[UnreadableRow]) -> str:
    return format_rows([*(row.raw for row in rows), *(row.raw for row in unreadable)])
