"""The ConfigMap registries of a namespace, each put together from the data of its ConfigMaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from providers.registries.configmap.claims import read_claim, read_claims
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
class MapData:
    """A ConfigMap that is named as one of a registry. Its rows are read when they are asked for, once."""

    obj: KubernetesObject
    max_items: int

    @cached_property
    def texts(self) -> dict[str, str]:
        """What it has under our keys."""
        return {key: text for key, text in read_texts(self.obj, "data").items() if key in OUR_KEYS}

    @cached_property
    def lists(self) -> tuple[RowList, RowList]:
        """Its rows and its intents. Raises WireError where they are no JSON arrays."""
        rows, intents = (
            parse_rows(self.texts[key], self.max_items) if key in self.texts else RowList()
            for key in (RECORDS, INTENTS)
        )
        return rows, intents

    @cached_property
    def entries(self) -> Mapping[EndpointKey, Entry]:
        """What it says of each record set."""
        rows, intents = self.lists
        return group_rows(rows.rows, intents.rows)

    @cached_property
    def ends(self) -> tuple[EndpointKey, EndpointKey]:
        """The first and the last of its record sets, of which it must have one."""
        return min(self.entries), max(self.entries)

    @cached_property
    def claims(self) -> Sequence[StoredClaim]:
        """What its owner claims in it."""
        parsed = parse_map_name(read_metadata(self.obj, "name"))
        return read_claims(parsed.owner_id, self.entries) if parsed else ()

    @cached_property
    def other_bytes(self) -> int:
        """The size of the data in it that is not ours."""
        others = {key: text for key, text in read_texts(self.obj, "data").items() if key not in OUR_KEYS}
        # Base64 text is longer than the bytes it stands for: this errs on the safe side.
        return measure_data({**others, **read_texts(self.obj, "binaryData")})

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
    """The registry of one owner: its layout, and the entry of each record set in its shard.

    `maps` are its ConfigMaps as they were read, by name. `misplaced` are entries in another shard
    than the index says, by the name of that ConfigMap. `is_closed`: a writer began to split a shard.
    """

    owner_id: str
    index: Index
    rows: Mapping[EndpointKey, Entry] = field(default_factory=dict)
    maps: Mapping[str, MapData] = field(default_factory=dict)
    misplaced: Mapping[str, Mapping[EndpointKey, Entry]] = field(default_factory=dict)
    is_closed: bool = False

    @cached_property
    def entries(self) -> Mapping[EndpointKey, Entry]:
        """The entries of all record sets, of others' and unmanaged ones too."""
        found = dict(self.rows)
        for each in self.misplaced.values():
            for key, entry in each.items():
                before = found.get(key, NO_ENTRY)
                found[key] = Entry(before.rows + entry.rows, before.intents + entry.intents)
        return found

    @property
    def claims(self) -> Sequence[StoredClaim]:
        """What this owner claims, each record set once."""
        if self.misplaced or len(self.rows) < sum(len(data.entries) for data in self.maps.values()):
            return read_claims(self.owner_id, self.entries)
        return [claim for data in self.maps.values() for claim in data.claims]

    @property
    def keyless(self) -> int:
        """How many rows have no readable record set."""
        return sum(len(each.unreadable) for data in self.maps.values() for each in data.lists)

    def claim_of(self, key: EndpointKey) -> StoredClaim | None:
        """What this owner claims of one record set."""
        return read_claim(self.owner_id, key, self.entries.get(key, NO_ENTRY))


def build_registry(owner_id: str) -> Registry:
    """The registry of an owner who has none yet, whether one can be made or not."""
    return Registry(owner_id, build_index(f"{owner_id}-storage"))


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
    rows: dict[EndpointKey, Entry] = {}
    misplaced: dict[str, dict[EndpointKey, Entry]] = {}
    is_closed, count = False, 0
    for number, shard in enumerate(index.shards):
        data = maps.get(shard.name)
        if data is None or RECORDS not in data.texts:
            raise unreadable(first, f"its index names {shard.name}, which is not there or has no `records`")
        cut = _read_cut(first, shard, data) if number else 0
        is_closed = is_closed or cut > index.generation
        try:
            count += sum(len(each.rows) + len(each.unreadable) for each in data.lists)
            raise_if_too_many(count, max_items)
        except WireError as error:
            raise unreadable(shard.name, f"its rows cannot be read ({error.reason})") from error
        start, end = index.range_of(number)
        inside = data.entries
        if inside and not (start <= data.ends[0] and data.ends[1] < end):
            inside = {key: entry for key, entry in data.entries.items() if start <= key < end}
        rows |= inside
        # After a split what is outside is in another shard, otherwise a person put it here.
        if len(inside) < len(data.entries) and not 0 < cut <= index.generation:
            outside = data.entries.keys() - inside.keys()
            misplaced[shard.name] = {key: _mark(data.entries[key]) for key in outside}
    found = {shard.name: maps[shard.name] for shard in index.shards}
    return Registry(owner_id, index, rows, found, misplaced, is_closed)


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
    """A shard without an index, which is written before any shard: another program deleted it, or
    wrote over it, and what is left is not the whole registry."""
    has_index = first in maps and {RECORDS, INDEX} <= maps[first].texts.keys()
    if not has_index and RECORDS in maps[name].texts and maps[name].is_shard:
        raise UnreadableRegistry(
            f"The ConfigMap {first} is gone or has lost its index, while its shard {name} is there."
        )
