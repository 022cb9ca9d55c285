"""Edits of an owner's registry, written shard by shard, each in one request; and shards cut in two.

A cut is five writes, and between any two of them a reader finds every row, and a writer knows how to go on:
the index announces it, the shard closes itself for other writers, the new shards are written, the index names
them, the shard drops what it gave away. Whoever finds a cut begun finishes it first. A cut of the first shard
needs no closing of its own: announcing it is writing to that shard.
"""

from collections.abc import Mapping

import msgspec

from providers.registries.configmap.index import announce_cut, build_index, build_mark, finish_cut
from providers.registries.configmap.names import format_map_name
from providers.registries.configmap.registry import Registry
from providers.registries.configmap.shards import (
    MAX_MAP_BYTES,
    Edit,
    Shard,
    apply_edits,
    count_rows,
    find_cuts,
    measure,
    select_rows,
    trim_rows,
)
from providers.stores.configmap.maps import NamespaceMaps
from providers.wire.endpoint import EndpointKey

Edits = Mapping[EndpointKey, Edit]


class RegistryWriter:
    """Writes to the registries of a namespace. `written` are the ConfigMaps whose rows were changed."""

    def __init__(self, maps: NamespaceMaps, written: list[str]) -> None:
        self._maps = maps
        self._written = written

    def write(self, owner_id: str, edits: Edits) -> None:
        """Make these edits in an owner's registry, which comes to be if there is none.

        Raises RegistryError, before any row was changed, where there is no room, and as KubernetesClient.
        """
        if not edits:
            return
        registry = self._maps.registries.get(owner_id)
        if registry is None:
            registry = self._begin(owner_id, edits)
        registry = self._finish_cut(registry)
        for name, mine in _by_shard(registry, edits).items():
            future = apply_edits(registry.shard_named(name), mine)
            if measure(future, registry.index) > MAX_MAP_BYTES:
                registry = self._finish_cut(self._announce_cut(registry, future))
        for name, mine in _by_shard(registry, edits).items():
            self._put_edited(apply_edits(registry.shard_named(name), mine), registry)
        self._maps.refresh(owner_id)

    def _begin(self, owner_id: str, edits: Edits) -> Registry:
        """The registry of a new owner: with its rows at once if one map holds them, else empty."""
        first = format_map_name(owner_id)
        self._maps.raise_if_foreign(first)
        index = build_index(first, sum(edit.row is not None for edit in edits.values()))
        full = apply_edits(Shard(index.shards[0]), edits)
        if measure(full, index) <= MAX_MAP_BYTES:
            if self._maps.put(full, index):
                self._written.append(first)
        else:
            index = build_index(first, 0)
            self._maps.put(Shard(index.shards[0]), index)
        return self._maps.refresh(owner_id)

    def _put_edited(self, shard: Shard, registry: Registry) -> None:
        index = registry.index
        if shard.mark is None and len(index.shards) == 1:
            # In a single map the count costs nothing to keep right.
            entry = msgspec.structs.replace(shard.entry, rows=len(shard.rows.rows))
            index = msgspec.structs.replace(index, shards=(entry,))
        if self._maps.put(shard, index):
            self._written.append(shard.entry.name)

    def _announce_cut(self, registry: Registry, future: Shard) -> Registry:
        """Cut a shard so that what it is to hold (`future`) finds room. No row is written here."""
        cuts = find_cuts(future, registry.index, MAX_MAP_BYTES)
        counts = count_rows(future, cuts)
        taken = self._maps.foreign_names()
        index = announce_cut(registry.index, future.entry.name, cuts, counts, taken)
        self._maps.put(registry.shards[0], index)
        return self._maps.refresh(registry.owner_id)

    def _finish_cut(self, registry: Registry) -> Registry:
        """Take a cut that is announced to its end, whoever began it."""
        cutting = registry.index.cutting
        if cutting is None:
            return registry
        index = finish_cut(registry.index)
        shard = registry.shard_named(cutting.name)
        if shard.mark is not None:
            closed = msgspec.structs.replace(shard, mark=build_mark(shard.entry, index.generation))
            self._maps.put(closed, registry.index)
        starts = [EndpointKey(*entry.start) for entry in cutting.into if entry.start is not None]
        for entry, end in zip(cutting.into, [*starts[1:], shard.end], strict=True):
            self._maps.put(select_rows(shard, entry, end, build_mark(entry)), index)
        first = registry.shards[0]
        if shard.mark is None:
            first = trim_rows(first, starts[0])
        self._maps.put(first, index)
        registry = self._maps.refresh(registry.owner_id)
        if shard.mark is not None:
            self._maps.put(registry.shard_named(cutting.name), registry.index)
            registry = self._maps.refresh(registry.owner_id)
        return registry


def _by_shard(registry: Registry, edits: Edits) -> dict[str, dict[EndpointKey, Edit]]:
    groups: dict[str, dict[EndpointKey, Edit]] = {}
    for key, edit in edits.items():
        groups.setdefault(registry.shard_of(key).entry.name, {})[key] = edit
    return groups
