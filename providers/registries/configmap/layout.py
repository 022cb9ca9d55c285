"""The index of a ConfigMap registry: which record sets are in which of its shards.

The first shard has it in `data.index`, as JSON a person can read. A registry without one is a single map.
Each further shard says in `data.shard` which place it was made for; the two must agree.
"""

import hashlib
from collections.abc import Collection, Sequence
from typing import TypeVar

import msgspec

from providers.registries.errors import RegistryError
from providers.wire.canonical_name import MAX_NAME_LENGTH
from providers.wire.endpoint import EndpointKey
from providers.wire.poison import MAX_RECORD_TYPE_LENGTH, MAX_SET_IDENTIFIER_LENGTH

INDEX_VERSION = 1
_DIGEST_LENGTH = 16
_MAX_INDEX_BYTES = 2 * MAX_SHARDS * 1024
_MOST_CHARACTERS = (MAX_NAME_LENGTH, MAX_RECORD_TYPE_LENGTH, MAX_SET_IDENTIFIER_LENGTH)
_Start = tuple[str, str, str]
_Read = TypeVar("_Read")


class UnreadableIndex(RegistryError):
    """An index that cannot be followed: which rows there are is then unknown."""


class Shard(msgspec.Struct, frozen=True, omit_defaults=True, rename={"start": "from", "name": "map"}):
    """One shard: the record sets from `start` (none: from the first) up to the next shard's.

    `rows` is how many there were when the shard was cut. `digest` is of the place: a map left over from
    another layout does not have it.
    """

    name: str
    rows: int
    digest: str
    start: _Start | None = None

    @property
    def place(self) -> EndpointKey:
        """Where it begins in the order of record sets; the first one does before all of them."""
        return EndpointKey(*(self.start or ("", "", "")))


class Cutting(msgspec.Struct, frozen=True, rename={"name": "map"}):
    """A shard that is being cut: what it holds from the first of `into` on is going there. While this
    stands nobody writes to that shard."""

    name: str
    into: tuple[Shard, ...]


class Index(msgspec.Struct, frozen=True, omit_defaults=True):
    """The layout of a registry. `generation` counts its changes."""

    version: int
    generation: int
    shards: tuple[Shard, ...]
    cutting: Cutting | None = None

    def number_of(self, name: str) -> int:
        """Where the shard of this name is among the shards."""
        return [shard.name for shard in self.shards].index(name)


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
    return Index(INDEX_VERSION, 0, (_build_shard(first, None, rows, 0),))


def announce_cut(
    index: Index, name: str, starts: Sequence[EndpointKey], counts: Sequence[int], taken: Collection[str] = ()
) -> Index:
    """The index that announces a cut of the shard `name` at `starts`.

    `counts` are the rows that stay in it, and then those that go to each new shard; `taken` are names of
    maps that are somebody else's. Raises RegistryError where there are shards enough.
    """
    first = index.shards[0].name
    used = {*taken, *(shard.name for shard in index.shards)}
    names = [f"{first}-{number}" for number in range(1, MAX_SHARDS) if f"{first}-{number}" not in used]
    if len(names) < len(starts):
        raise RegistryError(f"The registry would need more than {MAX_SHARDS} ConfigMaps.")
    into = tuple(
        _build_shard(new, (start.name, start.record_type, start.set_identifier), rows, index.generation + 1)
        for new, start, rows in zip(names, starts, counts[1:], strict=False)
    )
    shards = tuple(
        msgspec.structs.replace(shard, rows=sum(counts)) if shard.name == name else shard
        for shard in index.shards
    )
    return msgspec.structs.replace(index, shards=shards, cutting=Cutting(name, into))


def finish_cut(index: Index) -> Index:
    """The index once the new shards stand."""
    if index.cutting is None:
        return index
    number, into = index.number_of(index.cutting.name), index.cutting.into
    kept = index.shards[number].rows - sum(shard.rows for shard in into)
    cut = msgspec.structs.replace(index.shards[number], rows=max(0, kept))
    shards = (*index.shards[:number], cut, *into, *index.shards[number + 1 :])
    return Index(INDEX_VERSION, index.generation + 1, shards)


def format_index(index: Index) -> str:
    """The text of `data.index`, one shard a line."""
    lines = b",\n".join(b"  " + msgspec.json.encode(shard) for shard in index.shards).decode()
    head = f'{{"version":{index.version},"generation":{index.generation}'
    if index.cutting is not None:
        head += f',\n "cutting":{msgspec.json.encode(index.cutting).decode()}'
    return f'{head},\n "shards":[\n{lines}\n]}}'


def parse_index(text: str, first: str) -> Index:
    """The index in the map `first`. Raises UnreadableIndex for whatever cannot be followed."""
    index = _decode(_INDEX_DECODER, text, "index")
    if index.version != INDEX_VERSION:
        raise UnreadableIndex(f"its index has version {index.version}, which this release does not know")
    cutting = index.cutting
    if cutting and not (cutting.into and cutting.name in {shard.name for shard in index.shards}):
        raise UnreadableIndex("its index cuts a shard it does not have")
    # With the shards that a cut makes: what holds of all of them holds of those before it.
    _raise_if_disordered(finish_cut(index).shards, first)
    return index


def format_mark(shard: Shard, cut: int = 0) -> str:
    """The text of `data.shard`: what the shard in this place says of itself."""
    return msgspec.json.encode(ShardMark(INDEX_VERSION, shard.digest, shard.start, cut)).decode()


def parse_mark(text: str) -> ShardMark:
    """What a shard says of itself. Raises UnreadableIndex."""
    return _decode(_MARK_DECODER, text, "`shard`")


def _build_shard(name: str, start: _Start | None, rows: int, generation: int) -> Shard:
    """A shard's place in the layout of a generation."""
    place = msgspec.json.encode([name, start, generation])
    return Shard(name, rows, hashlib.sha256(place).hexdigest()[:_DIGEST_LENGTH], start)


def _decode(decoder: msgspec.json.Decoder[_Read], text: str, what: str) -> _Read:
    if len(text) > _MAX_INDEX_BYTES:
        raise UnreadableIndex(f"its {what} is longer than allowed")
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise UnreadableIndex(f"its {what} cannot be read") from None


def _raise_if_disordered(shards: Sequence[Shard], first: str) -> None:
    names = [shard.name for shard in shards]
    further = [(name, parse_map_name(name)) for name in names[1:]]
    if not 0 < len(shards) <= MAX_SHARDS or names[0] != first or shards[0].start is not None:
        raise UnreadableIndex("its index does not begin with itself")
    if not all(parsed and parsed.shard and name == f"{first}-{parsed.shard}" for name, parsed in further):
        raise UnreadableIndex("its index names a map that cannot be its shard")
    if len({*names}) != len(names):
        raise UnreadableIndex("its index names a shard twice")
    starts = [shard.start for shard in shards[1:] if shard.start and _is_short(shard.start)]
    if len(starts) != len(names) - 1 or starts != sorted({*starts}):
        raise UnreadableIndex("the shards in its index are in no order")


def _is_short(start: _Start) -> bool:
    return all(len(text) <= most for text, most in zip(start, _MOST_CHARACTERS, strict=True))
