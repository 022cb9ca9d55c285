"""The index of a ConfigMap registry: which record sets are in which of its shards.

The first shard has it in `data.index`, as JSON a person can read. A registry without one is a single map.
Each further shard says in `data.shard` which place it was made for; the two must agree.
"""

import hashlib
from collections.abc import Collection, Sequence

import msgspec

from providers.registries.configmap.names import MAX_SHARDS, parse_map_name
from providers.registries.errors import RegistryError
from providers.wire.canonical_name import MAX_NAME_LENGTH
from providers.wire.endpoint import EndpointKey
from providers.wire.poison import MAX_RECORD_TYPE_LENGTH, MAX_SET_IDENTIFIER_LENGTH

INDEX_VERSION = 1
_DIGEST_LENGTH = 16
_MAX_INDEX_BYTES = 2 * MAX_SHARDS * 1024
_Start = tuple[str, str, str]


class UnreadableIndex(RegistryError):
    """An index that cannot be followed: which rows there are is then unknown."""


class ShardEntry(msgspec.Struct, frozen=True, omit_defaults=True, rename={"start": "from", "name": "map"}):
    """One shard: the record sets from `start` (none: from the first) up to the next shard's.

    `rows` is how many there were when the shard was cut. `digest` is of the place: a map left over from
    another layout does not have it.
    """

    name: str
    rows: int
    digest: str
    start: _Start | None = None


class Cutting(msgspec.Struct, frozen=True, rename={"name": "map"}):
    """A shard that is being cut: what it holds from the first of `into` on is going there. While this
    stands nobody writes to that shard."""

    name: str
    into: tuple[ShardEntry, ...]


class Index(msgspec.Struct, frozen=True, omit_defaults=True):
    """The layout of a registry. `generation` counts its changes."""

    version: int
    generation: int
    shards: tuple[ShardEntry, ...]
    cutting: Cutting | None = None


class ShardMark(msgspec.Struct, frozen=True, omit_defaults=True, rename={"start": "from"}):
    """What a further shard says of itself.

    `cut` is the generation that a cut of it makes. From then on it may hold rows that went to other shards;
    they do not count, and go with its next write.
    """

    version: int
    digest: str
    start: _Start | None = None
    cut: int = 0


_INDEX_DECODER = msgspec.json.Decoder(Index)
_MARK_DECODER = msgspec.json.Decoder(ShardMark)


def build_index(first: str, rows: int) -> Index:
    """The index of a registry that is a single map."""
    return Index(INDEX_VERSION, 0, (build_entry(first, None, rows, 0),))


def build_entry(name: str, start: _Start | None, rows: int, generation: int) -> ShardEntry:
    """A shard's place in the layout of a generation."""
    place = msgspec.json.encode([name, start, generation])
    return ShardEntry(name, rows, hashlib.sha256(place).hexdigest()[:_DIGEST_LENGTH], start)


def build_mark(entry: ShardEntry, cut: int = 0) -> ShardMark:
    """What the shard in this place says of itself."""
    return ShardMark(INDEX_VERSION, entry.digest, entry.start, cut)


def announce_cut(
    index: Index, name: str, starts: Sequence[EndpointKey], counts: Sequence[int], taken: Collection[str] = ()
) -> Index:
    """The index that announces a cut of the shard `name` at `starts`.

    `counts` are the rows that stay in it, and then those that go to each new shard; `taken` are names of
    maps that are somebody else's. Raises RegistryError where there are shards enough.
    """
    first = index.shards[0].name
    used = {*taken, *(entry.name for entry in index.shards)}
    numbers = [number for number in range(1, MAX_SHARDS) if f"{first}-{number}" not in used]
    if len(numbers) < len(starts):
        raise RegistryError(f"The registry would need more than {MAX_SHARDS} ConfigMaps.")
    generation = index.generation + 1
    into = tuple(
        build_entry(
            f"{first}-{number}", (start.name, start.record_type, start.set_identifier), count, generation
        )
        for number, start, count in zip(numbers, starts, counts[1:], strict=False)
    )
    shards = tuple(
        msgspec.structs.replace(entry, rows=sum(counts)) if entry.name == name else entry
        for entry in index.shards
    )
    return msgspec.structs.replace(index, shards=shards, cutting=Cutting(name, into))


def finish_cut(index: Index) -> Index:
    """The index once the new shards stand."""
    if index.cutting is None:
        return index
    cutting = index.cutting
    shards: list[ShardEntry] = []
    for entry in index.shards:
        if entry.name == cutting.name:
            kept = entry.rows - sum(new.rows for new in cutting.into)
            shards += [msgspec.structs.replace(entry, rows=max(0, kept)), *cutting.into]
        else:
            shards.append(entry)
    return Index(INDEX_VERSION, index.generation + 1, tuple(shards))


def format_index(index: Index) -> str:
    """The text of `data.index`, one shard a line."""
    lines = b",\n".join(b"  " + msgspec.json.encode(entry) for entry in index.shards).decode()
    head = f'{{"version":{index.version},"generation":{index.generation}'
    if index.cutting is not None:
        head += f',\n "cutting":{msgspec.json.encode(index.cutting).decode()}'
    return f'{head},\n "shards":[\n{lines}\n]}}'


def parse_index(text: str, first: str) -> Index:
    """The index in the map `first`. Raises UnreadableIndex for whatever cannot be followed."""
    if len(text) > _MAX_INDEX_BYTES:
        raise UnreadableIndex("its index is longer than any honest one")
    try:
        index = _INDEX_DECODER.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise UnreadableIndex("its index cannot be read") from None
    if index.version != INDEX_VERSION:
        raise UnreadableIndex(f"its index has version {index.version}, which this release does not know")
    _raise_if_disordered(index.shards, first)
    if index.cutting is not None:
        _raise_if_odd_cut(index, index.cutting, first)
    return index


def format_mark(mark: ShardMark) -> str:
    """The text of `data.shard`."""
    return msgspec.json.encode(mark).decode()


def parse_mark(text: str) -> ShardMark:
    """What a shard says of itself. Raises UnreadableIndex."""
    try:
        if len(text) > _MAX_INDEX_BYTES:
            raise UnreadableIndex("its `shard` is longer than any honest one")
        return _MARK_DECODER.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise UnreadableIndex("its `shard` cannot be read") from None


def _raise_if_disordered(shards: Sequence[ShardEntry], first: str) -> None:
    if not 0 < len(shards) <= MAX_SHARDS or shards[0].name != first or shards[0].start is not None:
        raise UnreadableIndex("its index does not begin with itself")
    _raise_if_misnamed([entry.name for entry in shards], first)
    starts = [entry.start for entry in shards[1:]]
    if any(not _is_start(start) for start in starts) or starts != sorted(set(starts), key=place_key):
        raise UnreadableIndex("the shards in its index are in no order")


def _raise_if_odd_cut(index: Index, cutting: Cutting, first: str) -> None:
    names = [entry.name for entry in index.shards]
    if cutting.name not in names or not cutting.into:
        raise UnreadableIndex("its index cuts a shard it does not have")
    _raise_if_misnamed([*names, *(entry.name for entry in cutting.into)], first)
    _raise_if_disordered(finish_cut(index).shards, first)


def _raise_if_misnamed(names: Sequence[str], first: str) -> None:
    for name in names[1:]:
        parsed = parse_map_name(name)
        if parsed is None or parsed.shard == 0 or name != f"{first}-{parsed.shard}":
            raise UnreadableIndex("its index names a map that cannot be its shard")
    if len(set(names)) != len(names):
        raise UnreadableIndex("its index names a shard twice")


def place_key(start: _Start | None) -> tuple[str, ...]:
    """A place in the order of shards; none is before all others."""
    return start or ()


def _is_start(start: _Start | None) -> bool:
    return (
        start is not None
        and len(start[0]) <= MAX_NAME_LENGTH
        and len(start[1]) <= MAX_RECORD_TYPE_LENGTH
        and len(start[2]) <= MAX_SET_IDENTIFIER_LENGTH
    )
