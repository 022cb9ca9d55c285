"""The ConfigMap registries of a namespace, each put together from the data of its ConfigMaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from providers.registries.configmap.claims import read_claim
from providers.registries.configmap.layout import (
    Index,
    Shard,
    UnreadableRegistry,
    build_index,
    format_map_name,
    parse_index,
    parse_map_name,
    parse_mark,
    unreadable,
)
from providers.registries.configmap.rows import NO_ENTRY, Entry, RowList, group_rows, parse_rows
from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_object, read_texts
from providers.registries.stored_claim import StoredClaim
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_shape import raise_if_too_many

RECORDS = "records"
INTENTS = "intents"
INDEX = "index"
SHARD = "shard"
OUR_KEYS = (RECORDS, INTENTS, INDEX, SHARD)
_MISPLACED = "Its row stands in another shard than the index says."


@dataclass(frozen=True)
class ShardRows:
    """What one ConfigMap of an owner says by record set, and the JSON of rows without a readable one.

    `other_bytes` is the size of the data in it that is not ours.
    """

    owner_id: str
    entries: Mapping[EndpointKey, Entry] = field(default_factory=dict)
    unreadable: tuple[bytes, ...] = ()
    unreadable_intents: tuple[bytes, ...] = ()
    other_bytes: int = 0

    @cached_property
    def claims(self) -> tuple[StoredClaim, ...]:
        """What the owner claims here."""
        found = (read_claim(self.owner_id, key, entry) for key, entry in self.entries.items())
        return tuple(claim for claim in found if claim is not None)

    @cached_property
    def row_count(self) -> int:
        """The rows of record sets."""
        return sum(len(entry.rows) for entry in self.entries.values())

    @cached_property
    def count(self) -> int:
        """All rows and intents, unreadable ones too."""
        intents = sum(len(entry.intents) for entry in self.entries.values())
        return self.row_count + intents + len(self.unreadable) + len(self.unreadable_intents)


@dataclass(frozen=True)
class MapData:
    """A ConfigMap that is named as one of a registry. Its rows are read when they are asked for, once."""

    obj: KubernetesObject
    max_items: int

    @cached_property
    def texts(self) -> dict[str, str]:
        """What it has under our keys."""
        return {key: text for key, text in read_texts(self.obj, "data").items() if key in OUR_KEYS}

    @cached_property
    def rows(self) -> ShardRows:
        """Raises WireError where they are no JSON arrays."""
        parsed = parse_map_name(read_metadata(self.obj, "name"))
        rows, intents = (
            parse_rows(self.texts[key], self.max_items) if key in self.texts else RowList()
            for key in (RECORDS, INTENTS)
        )
        others = {key: text for key, text in read_texts(self.obj, "data").items() if key not in OUR_KEYS}
        # Base64 text is longer than the bytes it stands for: this errs on the safe side.
        other_bytes = measure_data({**others, **read_texts(self.obj, "binaryData")})
        return ShardRows(
            parsed.owner_id if parsed else "",
            group_rows(rows.rows, intents.rows),
            rows.unreadable,
            intents.unreadable,
            other_bytes,
        )

    @property
    def is_empty(self) -> bool:
        return not read_object(self.obj, "data") and not read_object(self.obj, "binaryData")

    @property
    def is_shard(self) -> bool:
        """Whether it says that it is a further shard of a registry."""
        try:
            return bool(parse_mark(self.texts.get(SHARD, ""), ""))
        except UnreadableRegistry:
            return False


@dataclass(frozen=True)
class Registry:
    """The registry of one owner: the layout of its shards, and the rows of each of them.

    `is_closed`: a writer began to split one of them.
    """

    owner_id: str
    index: Index
    maps: tuple[ShardRows, ...]
    is_closed: bool = False

    @cached_property
    def entries(self) -> Mapping[EndpointKey, Entry]:
        """All that is said of each record set, of others' and unmanaged ones too."""
        found: dict[EndpointKey, Entry] = {}
        for each in self.maps:
            for key, entry in each.entries.items():
                before = found.get(key)
                found[key] = (
                    Entry(before.rows + entry.rows, before.intents + entry.intents) if before else entry
                )
        return found

    @property
    def claims(self) -> Sequence[StoredClaim]:
        """What this owner claims, each record set once."""
        if len(self.entries) < sum(len(each.entries) for each in self.maps):
            # Somebody put a row into another shard than the one it belongs in.
            return ShardRows(self.owner_id, self.entries).claims
        return [claim for each in self.maps for claim in each.claims]

    def claim_of(self, key: EndpointKey) -> StoredClaim | None:
        """What this owner claims of one record set."""
        return read_claim(self.owner_id, key, self.entries.get(key, NO_ENTRY))


def build_registry(owner_id: str) -> Registry:
    """The registry of an owner who has none yet, whether one can be made or not."""
    return Registry(owner_id, build_index(f"{owner_id}-storage"), (ShardRows(owner_id),))


def read_registries(maps: Mapping[str, MapData], max_items: int) -> dict[str, Registry]:
    """All registries in the ConfigMaps of a namespace, by owner. Raises UnreadableRegistry."""
    registries: dict[str, Registry] = {}
    for name, data in maps.items():
        parsed = parse_map_name(name)
        if parsed is None:
            continue
        if parsed.shard:
            _raise_if_orphaned(name.removesuffix(f"-{parsed.shard}"), name, maps)
        elif RECORDS in data.texts:
            registries[parsed.owner_id] = read_registry(parsed.owner_id, maps, max_items)
        elif _has_index(data, name):
            raise UnreadableRegistry(f"The ConfigMap {name} has lost its `records`.")
    return registries


def read_registry(owner_id: str, maps: Mapping[str, MapData], max_items: int) -> Registry:
    """The registry of an owner out of ConfigMaps by name, the first of which is there.

    A first map without index is all there is, as the registry proposal has it. Raises UnreadableRegistry.
    """
    first = format_map_name(owner_id)
    text = maps[first].texts.get(INDEX)
    index = parse_index(text, first) if text is not None else build_index(first)
    ends = [shard.place for shard in index.shards[1:]]
    found: list[ShardRows] = []
    is_closed = False
    for shard, end in zip(index.shards, [*ends, None], strict=True):
        data = maps.get(shard.name)
        if data is None or RECORDS not in data.texts:
            raise unreadable(first, f"its index names {shard.name}, which is not there or has no `records`")
        cut = _read_cut(first, shard, data) if found else 0
        is_closed = is_closed or cut > index.generation
        try:
            rows = data.rows
            raise_if_too_many(sum(each.count for each in found) + rows.count, max_items)
        except WireError as error:
            raise unreadable(shard.name, f"its rows cannot be read ({error.reason})") from error
        outside = {key for key in rows.entries if key < shard.place or (end is not None and key >= end)}
        if outside:
            # After a split these are at home in another shard, otherwise somebody put them here.
            marked = {} if 0 < cut <= index.generation else {key: _mark(rows.entries[key]) for key in outside}
            inside = {key: entry for key, entry in rows.entries.items() if key not in outside}
            rows = replace(rows, entries=inside | marked)
        found.append(rows)
    return Registry(owner_id, index, tuple(found), is_closed)


def measure_data(data: Mapping[str, str]) -> int:
    """The bytes of keys and values. An API counts values only."""
    return sum(len(key.encode()) + len(value.encode(errors="replace")) for key, value in data.items())


def _has_index(data: MapData, name: str) -> bool:
    try:
        return INDEX in data.texts and bool(parse_index(data.texts[INDEX], name))
    except UnreadableRegistry:
        return False


def _read_cut(first: str, shard: Shard, data: MapData) -> int:
    """The generation that a split of a further shard makes or made; 0 for none."""
    mark = parse_mark(data.texts.get(SHARD, ""), shard.name)
    if (mark.digest, mark.start) != (shard.digest, shard.start):
        raise unreadable(shard.name, f"it belongs to another layout than the index in {first} describes")
    return mark.cut


def _mark(entry: Entry) -> Entry:
    rows, intents = (
        tuple(msgspec.structs.replace(row, problem=row.problem or _MISPLACED) for row in each)
        for each in (entry.rows, entry.intents)
    )
    return Entry(rows, intents)


def _raise_if_orphaned(first: str, name: str, maps: Mapping[str, MapData]) -> None:
    """A shard without an index, which is written before any shard: somebody else deleted it, or wrote over
    it, and what is left is not the whole registry."""
    has_index = first in maps and {RECORDS, INDEX} <= maps[first].texts.keys()
    if not has_index and RECORDS in maps[name].texts and maps[name].is_shard:
        raise UnreadableRegistry(
            f"The ConfigMap {first} is gone or has lost its index, while its shard {name} is there."
        )
