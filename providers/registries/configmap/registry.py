"""A whole ConfigMap registry of one owner, put together from the data of its ConfigMaps."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain

import msgspec

from providers.registries.configmap.claims import read_claim, read_claims
from providers.registries.configmap.index import (
    Index,
    ShardEntry,
    ShardMark,
    UnreadableIndex,
    build_index,
    parse_index,
    parse_mark,
    place_key,
)
from providers.registries.configmap.names import format_map_name
from providers.registries.configmap.rows import Row, RowList, parse_rows
from providers.registries.configmap.shards import INDEX, INTENTS, RECORDS, SHARD, Shard
from providers.registries.errors import RegistryError
from providers.registries.stored_claim import StoredClaim
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_shape import raise_if_too_many

_NO_ROWS = RowList()
_MISPLACED = "Its row stands in another shard than the index says."


class UnreadableRegistry(RegistryError):
    """A registry whose rows cannot all be told: never taken for an empty one. Its ConfigMap is named."""


class MapData:
    """What of one ConfigMap matters here: its texts, and the size of all other data in it.

    Its lists are parsed once, and the claims in them read once: a registry is put together again after each
    write to one of its maps.
    """

    def __init__(self, texts: Mapping[str, str], other_bytes: int = 0) -> None:
        self.texts = texts
        self.other_bytes = other_bytes
        self._lists: dict[str, RowList] = {}
        self._claims: dict[str, tuple[StoredClaim, ...]] = {}

    def parse_list(self, key: str, max_items: int) -> RowList:
        """The rows under a key; none where there is no such key. Raises WireError."""
        if key not in self.texts:
            return _NO_ROWS
        if key not in self._lists:
            self._lists[key] = parse_rows(self.texts[key], max_items)
        found = self._lists[key]
        raise_if_too_many(len(found.rows) + len(found.unreadable), max_items)
        return found

    def holds(self, shard: Shard) -> bool:
        """Whether a shard has just the rows that were parsed here: none misplaced, none left over."""
        pairs = ((RECORDS, shard.rows), (INTENTS, shard.intents))
        return all(self._lists.get(key, _NO_ROWS) is rows for key, rows in pairs)

    def list_claims(self, owner_id: str) -> tuple[StoredClaim, ...]:
        """What the rows here claim for the owner, taken by themselves."""
        if owner_id not in self._claims:
            rows, intents = (self._lists.get(key, _NO_ROWS).rows for key in (RECORDS, INTENTS))
            self._claims[owner_id] = tuple(read_claims(owner_id, rows, intents))
        return self._claims[owner_id]


class Registry:
    """The registry of one owner as it stands: one or more shards in the order of their record sets.

    `sources` are the ConfigMaps of the shards.
    """

    def __init__(
        self, owner_id: str, index: Index, shards: tuple[Shard, ...], sources: tuple[MapData, ...]
    ) -> None:
        self.owner_id = owner_id
        self.index = index
        self.shards = shards
        self._sources = sources
        self._starts = [place_key(shard.entry.start) for shard in shards]

    def rows(self) -> Iterator[Row]:
        """All rows, of others and unmanaged ones too."""
        return (row for shard in self.shards for row in shard.rows.rows)

    def intents(self) -> Iterator[Row]:
        return (row for shard in self.shards for row in shard.intents.rows)

    def unreadable(self) -> list[str]:
        """Of each row that speaks for no record set anybody could tell: why."""
        lists = (found for shard in self.shards for found in (shard.rows, shard.intents))
        return [row.reason for found in lists for row in found.unreadable]

    def claims(self) -> Iterator[StoredClaim]:
        """What this owner claims, each record set once."""
        parts = zip(self.shards, self._sources, strict=True)
        if all(source.holds(shard) for shard, source in parts):
            # Each record set is in one shard alone.
            return chain.from_iterable(source.list_claims(self.owner_id) for source in self._sources)
        return read_claims(self.owner_id, self.rows(), self.intents())

    def claim_of(self, key: EndpointKey) -> StoredClaim | None:
        """What this owner claims of one record set."""
        return read_claim(self.owner_id, self._rows.get(key, ()), self._intents.get(key, ()))

    @cached_property
    def _rows(self) -> dict[EndpointKey, list[Row]]:
        return _group(self.rows())

    @cached_property
    def _intents(self) -> dict[EndpointKey, list[Row]]:
        return _group(self.intents())

    def rows_of(self, key: EndpointKey) -> list[Row]:
        return self._rows.get(key, [])

    def intents_of(self, key: EndpointKey) -> list[Row]:
        return self._intents.get(key, [])

    def shard_of(self, key: EndpointKey) -> Shard:
        """The shard that the record set belongs in."""
        return self.shards[max(0, bisect_right(self._starts, key) - 1)]

    def shard_named(self, name: str) -> Shard:
        return next(shard for shard in self.shards if shard.entry.name == name)


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
    ends = [entry.start for entry in index.shards[1:]] + [None]
    shards: list[Shard] = []
    room = max_items
    for entry, end in zip(index.shards, ends, strict=True):
        shard = _read_shard(first, entry, EndpointKey(*end) if end else None, maps, room)
        room -= sum(len(each.rows) + len(each.unreadable) for each in (shard.rows, shard.intents))
        shards.append(_settle_places(shard, index))
    sources = tuple(maps[entry.name] for entry in index.shards)
    return Registry(owner_id, index, tuple(shards), sources)


def _read_shard(
    first: str, entry: ShardEntry, end: EndpointKey | None, maps: Mapping[str, MapData], max_items: int
) -> Shard:
    found = maps.get(entry.name)
    if found is None or RECORDS not in found.texts:
        raise _unreadable(first, f"its index names {entry.name}, which is not there or has no `records`")
    mark = None if entry.name == first else _read_mark(first, entry, found)
    try:
        return Shard(
            entry,
            mark,
            end,
            rows=found.parse_list(RECORDS, max_items),
            intents=found.parse_list(INTENTS, max_items),
            other_bytes=found.other_bytes,
        )
    except WireError as error:
        raise _unreadable(entry.name, f"its rows are no JSON array of objects ({error.reason})") from error


def _read_mark(first: str, entry: ShardEntry, found: MapData) -> ShardMark:
    try:
        mark = parse_mark(found.texts.get(SHARD, ""))
    except UnreadableIndex as error:
        raise _unreadable(entry.name, str(error)) from error
    if mark.digest != entry.digest or mark.start != entry.start:
        raise _unreadable(entry.name, f"it belongs to another layout than the index in {first} describes")
    return mark


def _settle_places(shard: Shard, index: Index) -> Shard:
    """The shard with what is left over from a cut taken out, and what stands in a wrong place told."""
    is_cut = shard.mark is not None and 0 < shard.mark.cut <= index.generation
    return msgspec.structs.replace(
        shard,
        mark=msgspec.structs.replace(shard.mark, cut=0) if shard.mark and is_cut else shard.mark,
        rows=_settle_list(shard, shard.rows, is_cut=is_cut),
        intents=_settle_list(shard, shard.intents, is_cut=is_cut),
    )


def _settle_list(shard: Shard, found: RowList, *, is_cut: bool) -> RowList:
    if all(shard.holds(row.key) for row in found.rows):
        return found
    rows = (
        row if shard.holds(row.key) else msgspec.structs.replace(row, problem=row.problem or _MISPLACED)
        for row in found.rows
        if shard.holds(row.key) or not is_cut
    )
    return RowList(tuple(rows), found.unreadable)


def _unreadable(name: str, reason: str) -> UnreadableRegistry:
    return UnreadableRegistry(f"The ConfigMap {name} cannot be read as a registry: {reason}.")


def _group(rows: Iterable[Row]) -> dict[EndpointKey, list[Row]]:
    groups: dict[EndpointKey, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.key].append(row)
    return dict(groups)
