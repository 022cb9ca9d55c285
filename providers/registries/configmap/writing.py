"""Edits of ConfigMap registries as the ConfigMaps to be written.

A registry is written as a whole or not at all: the shards that differ are made under new names, which count
for nothing, and then the first map is written, whose index names them. That one request fails if anybody
wrote the first map since it was read. What the index named before is deleted afterwards: whoever still counts
on it has read an older first map, and cannot write.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from providers.registries.configmap.layout import (
    MAX_SHARD_NUMBER,
    MAX_SHARDS,
    format_index,
    format_map_name,
)
from providers.registries.configmap.registry import (
    INDEX,
    INTENTS,
    RECORDS,
    SHARD,
    MapData,
    Registries,
    Registry,
    Shard,
    find_registry,
)
from providers.registries.configmap.rows import NO_ENTRY, Entries, Entry, format_rows
from providers.registries.errors import RegistryError
from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_object
from providers.wire.endpoint import EndpointKey

# A Kubernetes API takes 1 MiB of data in one ConfigMap. What is between is for whatever else is put in it.
MAX_SHARD_BYTES = 900 * 1024
# A shard that was split has room to grow.
_FILL = 0.6
# Keys, brackets and the place of a shard.
_FRAME_BYTES = 400
_MOST_LEFT_OVER = 16


class Commit(NamedTuple):
    """The ConfigMaps to be written for one registry, in this order: the last one is the first map, which
    makes the change. `obsolete` maps are deleted then."""

    writes: Sequence[tuple[str, Mapping[str, str]]]
    obsolete: list[str]


class WritePlan:
    """The writes of edits, in their order. `maps` are all ConfigMaps of our names in the namespace.

    All of them are worked out before the first is made, so that what has no room is refused in time.
    """

    def __init__(self, registries: Registries, maps: Mapping[str, MapData], max_bytes: int) -> None:
        self.commits: list[Commit] = []
        self._registries = dict(registries)
        self._maps = maps
        self._taken = {*maps}
        self._max_bytes = max_bytes

    def add(self, owner_id: str, wanted: Entries) -> None:
        """Make an owner's registry say this of these record sets (nothing, where an entry is empty). What it
        says already is not written. Raises RegistryError."""
        before = find_registry(self._registries, owner_id)
        edits = {key: entry for key, entry in wanted.items() if entry != before.entries.get(key, NO_ENTRY)}
        if not edits:
            return
        self._raise_if_unusable(before, is_new=owner_id not in self._registries)
        after = self._edit(before, edits)
        known, kept = ({shard.name for shard in each.shards} for each in (before, after))
        made = [number for number, shard in enumerate(after.shards) if shard.name not in known]
        # Shards without an index would belong to nothing, should the first map go.
        writes = [format_map(before, 0)] if made and not before.has_index else []
        writes += [format_map(after, number) for number in (*made, 0)]
        self.commits.append(Commit(writes, [*before.left_over, *sorted(known - kept)]))
        self._registries[owner_id] = after

    def _raise_if_unusable(self, registry: Registry, *, is_new: bool) -> None:
        name = format_map_name(registry.owner_id)
        standing: KubernetesObject = self._maps[name].obj if name in self._maps else {}
        if is_new and (read_object(standing, "data") or read_object(standing, "binaryData")):
            raise RegistryError(
                f"There is a ConfigMap {name} in the namespace {read_metadata(standing, 'namespace')} "
                "that is no registry: it has no `records`. It was left as it was."
            )
        left_over = registry.left_over
        if len(left_over) > _MOST_LEFT_OVER + 2 * len(registry.shards):
            raise RegistryError(
                f"{len(left_over)} ConfigMaps that {name} does not use any more were not deleted, such as "
                f"{left_over[0]}. Give the account the right to delete ConfigMaps there."
            )

    def _edit(self, registry: Registry, edits: Entries) -> Registry:
        by_shard: defaultdict[int, dict[EndpointKey, Entry]] = defaultdict(dict)
        for key, entry in edits.items():
            by_shard[registry.number_of(key)][key] = entry
        shards: list[Shard] = []
        for number, shard in enumerate(registry.shards):
            edited = {**shard.entries, **by_shard.get(number, {})}
            wanted = {key: entry for key, entry in edited.items() if entry != NO_ENTRY}
            shards += self._cut(registry, number, wanted) if number in by_shard else [shard]
        if len(shards) > MAX_SHARDS:
            raise RegistryError(f"The registry would need more than {MAX_SHARDS} ConfigMaps.")
        return replace(registry, shards=tuple(shards), has_index=True, left_over=())

    def _cut(self, registry: Registry, number: int, entries: Entries) -> Iterator[Shard]:
        """The shards that take the place of one; none where nothing is left in it, but for the first.

        Where the first cannot hold all rows it holds none, so that the index is quickly written.
        """
        first, start = registry.shards[0].name, registry.shards[number].start
        weights = {key: _weigh(entries[key]) for key in sorted(entries)}
        others = _FRAME_BYTES if number else self._measure_first(registry)
        is_small = others + sum(weights.values()) <= self._max_bytes
        if not number and not is_small:
            yield Shard(first, start, {})
            start = next(iter(weights), start)
        name = first if is_small and not number else self._take_name(first)
        part: dict[EndpointKey, Entry] = {}
        size = _FRAME_BYTES
        for key, weight in weights.items():
            if part and not is_small and size + weight > self._max_bytes * _FILL:
                yield Shard(name, start, part)
                name, start, part, size = self._take_name(first), key, {}, _FRAME_BYTES
            part[key] = entries[key]
            size += weight
        if part or name == first:
            yield Shard(name, start, part)

    def _take_name(self, first: str) -> str:
        names = (f"{first}-{number}" for number in range(1, MAX_SHARD_NUMBER + 1))
        name = next((name for name in names if name not in self._taken), "")
        if not name:
            raise RegistryError(f"There are no names left for further ConfigMaps beside {first}.")
        self._taken.add(name)
        return name

    def _measure_first(self, registry: Registry) -> int:
        """The bytes of the first map without its rows."""
        name = registry.shards[0].name
        others = self._maps[name].other_bytes if name in self._maps else 0
        return _FRAME_BYTES + len(format_index(registry.places)) + others


def format_map(registry: Registry, number: int) -> tuple[str, dict[str, str]]:
    """The name of a shard's ConfigMap, and what it has under our keys."""
    shard = registry.shards[number]
    entries = [entry for _, entry in sorted(shard.entries.items())]
    records = [row.raw for entry in entries for row in entry.rows]
    intents = [row.raw for entry in entries for row in entry.intents]
    data = {RECORDS: format_rows(records)}
    if intents:
        data[INTENTS] = format_rows(intents)
    if number:
        data[SHARD] = msgspec.json.encode(shard.start).decode()
    else:
        data[INDEX] = format_index(registry.places)
    return shard.name, data


def _weigh(entry: Entry) -> int:
    return sum(len(row.raw) + len(",\n") for row in entry.all_rows)
