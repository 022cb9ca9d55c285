"""The ConfigMap registries of a namespace, each put together from the data of its ConfigMaps."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from providers.registries.configmap.claims import read_claim, read_claims
from providers.registries.configmap.layout import (
    Index,
    ShardMark,
    build_index,
    format_map_name,
    parse_index,
    parse_map_name,
    parse_mark,
    split_shard,
)
from providers.registries.configmap.rows import NO_ENTRY, NO_KEY, Entry, group_rows, parse_rows
from providers.registries.errors import RegistryError
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

Entries = Mapping[EndpointKey, Entry]


class UnreadableRegistry(RegistryError):
    """A registry that cannot be read as a whole: never taken for an empty one. Its ConfigMap is named."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"The ConfigMap {name} {reason}.")


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
    def entries(self) -> Entries:
        """What it says of each record set. Raises WireError where its lists are no JSON arrays."""
        rows, intents = (parse_rows(self.texts.get(key, "[]"), self.max_items) for key in (RECORDS, INTENTS))
        return group_rows(rows, intents)

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
    def mark(self) -> ShardMark | None:
        """What it says of itself as a further shard, if it is one."""
        return parse_mark(self.texts.get(SHARD, ""))


@dataclass(frozen=True)
class Registry:
    """The registry of one owner: its layout, and what each shard says of which record sets.

    `maps` are its ConfigMaps as they were read, by name. `is_closed`: a writer began to split a shard. A row
    in another shard than the index says has that problem, and stays where it is.
    """

    owner_id: str
    index: Index
    shards: tuple[Entries, ...] = ({},)
    maps: Mapping[str, MapData] = field(default_factory=dict)
    is_closed: bool = False

    @cached_property
    def entries(self) -> Entries:
        """The entries of all record sets, of others' and unmanaged ones too."""
        found: dict[EndpointKey, Entry] = {}
        for shard in self.shards:
            both = {key: found[key] + shard[key] for key in found.keys() & shard.keys()}
            found |= shard
            found |= both
        return found

    @property
    def claims(self) -> Sequence[StoredClaim]:
        """What this owner claims, each record set once."""
        pairs = zip(self.maps.values(), self.shards, strict=False)
        if self.maps and all(data.entries is shard for data, shard in pairs):
            return [claim for data in self.maps.values() for claim in data.claims]
        return read_claims(self.owner_id, self.entries)

    @property
    def keyless(self) -> int:
        """How many rows have no readable record set."""
        return len(self.entries.get(NO_KEY, NO_ENTRY))

    def claim_of(self, key: EndpointKey) -> StoredClaim | None:
        """What this owner claims of one record set."""
        return read_claim(self.owner_id, key, self.entries.get(key, NO_ENTRY))

    def edited(self, edits: Entries) -> "Registry":
        """With these entries, each in its shard; an empty one: without it."""
        shards = {number: dict(self.shards[number]) for number in {*map(self.index.number_of, edits)}}
        for key, entry in edits.items():
            shard = shards[self.index.number_of(key)]
            shard[key] = entry
            if not entry:
                del shard[key]
        return replace(self, shards=tuple(shards.get(each, old) for each, old in enumerate(self.shards)))

    def split(self, number: int, starts: Sequence[EndpointKey], taken: Collection[str]) -> "Registry":
        """With a shard split before the record sets `starts`; `taken` are names of other tools' maps."""
        index = split_shard(self.index, number, starts, taken)
        parts: list[dict[EndpointKey, Entry]] = [{} for _ in (None, *starts)]
        start, end = self.index.range_of(number)
        for key, entry in self.shards[number].items():
            # What does not belong in the shard, or has no readable record set, stays.
            part = index.number_of(key) - number if start <= key < end else 0
            parts[part][key] = entry
        return replace(self, index=index, shards=(*self.shards[:number], *parts, *self.shards[number + 1 :]))


def build_registry(owner_id: str) -> Registry:
    """The registry of an owner who has none yet, whether one can be made or not."""
    return Registry(owner_id, build_index(f"{owner_id}-storage"))


def find_registry(registries: Mapping[str, Registry], owner_id: str) -> Registry:
    """The registry of an owner, or a new one."""
    return registries.get(owner_id) or build_registry(owner_id)


def read_registries(maps: Mapping[str, MapData], max_items: int) -> dict[str, Registry]:
    """All registries in the ConfigMaps of a namespace, by owner. Raises UnreadableRegistry."""
    registries: dict[str, Registry] = {}
    for name, data in maps.items():
        parsed = parse_map_name(name)
        if parsed is None:
            continue
        first = format_map_name(parsed.owner_id)
        has_index = first in maps and {RECORDS, INDEX} <= maps[first].texts.keys()
        if not parsed.shard and RECORDS in data.texts:
            registries[parsed.owner_id] = read_registry(parsed.owner_id, maps, max_items)
        elif not parsed.shard and parse_index(data.texts.get(INDEX, ""), name):
            raise UnreadableRegistry(name, "has lost its `records`")
        elif parsed.shard and data.mark and RECORDS in data.texts and not has_index:
            # The index was written before its shards: another program deleted it, or wrote over it.
            raise UnreadableRegistry(first, f"is gone or has lost its index, and its shard {name} is there")
    return registries


def read_registry(owner_id: str, maps: Mapping[str, MapData], max_items: int) -> Registry:
    """The registry of an owner out of ConfigMaps by name, the first of which is there.

    A first map without index is all there is, as the registry proposal has it. Raises UnreadableRegistry.
    """
    first = format_map_name(owner_id)
    text = maps[first].texts.get(INDEX)
    index = parse_index(text, first) if text is not None else build_index(first)
    if index is None:
        raise UnreadableRegistry(first, "has an index that cannot be followed, or is of a newer release")
    found: dict[str, MapData] = {}
    shards: list[Entries] = []
    is_closed, count = False, 0
    for number, shard in enumerate(index.shards):
        data = maps.get(shard.name)
        if data is None or RECORDS not in data.texts:
            raise UnreadableRegistry(
                first, f"has an index that names {shard.name}, which is gone or has no `records`"
            )
        mark = data.mark if number else ShardMark(1, shard.digest, shard.start)
        if mark is None or (mark.digest, mark.start) != (shard.digest, shard.start):
            raise UnreadableRegistry(shard.name, f"belongs to another layout than the index in {first}")
        try:
            count += sum(map(len, data.entries.values()))
            raise_if_too_many(count, max_items)
        except WireError as error:
            raise UnreadableRegistry(shard.name, f"has rows that cannot be read: {error.reason}") from error
        found[shard.name] = data
        shards.append(_read_shard(data.entries, index, number, was_split=0 < mark.cut <= index.generation))
        is_closed = is_closed or mark.cut > index.generation
    return Registry(owner_id, index, tuple(shards), found, is_closed)


def measure_data(data: Mapping[str, str]) -> int:
    """The bytes of keys and values. An API counts values only."""
    return sum(len(key.encode()) + len(value.encode(errors="replace")) for key, value in data.items())


def _read_shard(entries: Entries, index: Index, number: int, *, was_split: bool) -> Entries:
    """After a split, what another shard has does not count; otherwise a person put it here."""
    start, end = index.range_of(number)
    outside = {key for key in entries if not start <= key < end and key != NO_KEY}
    if not outside:
        return entries
    if was_split:
        return {key: entry for key, entry in entries.items() if key not in outside}
    return {**entries, **{key: entries[key].with_problem(_MISPLACED) for key in outside}}
