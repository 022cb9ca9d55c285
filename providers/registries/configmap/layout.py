"""Which ConfigMaps are an owner's registry, and which record sets are in which of them.

The first shard is the ConfigMap `<owner id>-storage`, further ones are `<owner id>-storage-1` and so on. The
first has the index in `data.index`, as JSON a person can read; without one it is the only shard. Each further
shard says in `data.shard` which place it was made for; the two must agree.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Annotated, Literal, NamedTuple, TypeVar

import msgspec

from providers.registries.configmap.rows import NO_KEY
from providers.registries.errors import RegistryError
from providers.registries.kubernetes_object import MAX_OBJECT_NAME_LENGTH, is_object_name
from providers.wire.canonical_name import MAX_NAME_LENGTH
from providers.wire.endpoint import EndpointKey
from providers.wire.poison import safe_text

MAX_SHARDS = 256
_DIGEST_LENGTH = 16
_MAP_NAME = re.compile(r"(.+)-storage(?:-([1-9][0-9]{0,2}))?", re.DOTALL).fullmatch

_Read = TypeVar("_Read")


class UnstorableOwner(RegistryError):
    """An owner id that no ConfigMap can be named after."""


class MapName(NamedTuple):
    """Whose registry a ConfigMap belongs to, and which shard of it that is; 0 is the first."""

    owner_id: str
    shard: int


class Shard(msgspec.Struct, frozen=True, omit_defaults=True, rename={"start": "from", "name": "map"}):
    """One shard: the record sets from `start` (none: from the first) up to the next shard's.

    `rows` is for people. `digest` is of the place: a map left over from another layout has another one.
    """

    name: str
    rows: int
    digest: str
    start: EndpointKey | None = None

    @property
    def place(self) -> EndpointKey:
        """Where it begins in the order of record sets; the first one does before all of them."""
        return self.start or EndpointKey("", "", "")


class Index(msgspec.Struct, frozen=True):
    """The layout of a registry. `generation` counts its changes."""

    version: Literal[1]
    generation: int
    shards: Annotated[tuple[Shard, ...], msgspec.Meta(min_length=1, max_length=MAX_SHARDS)]

    def number_of(self, key: EndpointKey) -> int:
        """Which of the shards a record set belongs in."""
        return bisect_right(self.shards, key, key=lambda shard: shard.place) - 1

    def range_of(self, number: int) -> tuple[EndpointKey, EndpointKey]:
        """The first record set that may be in a shard, and the end, which may not."""
        places = [*(shard.place for shard in self.shards), NO_KEY]
        return places[number], places[number + 1]


class ShardMark(msgspec.Struct, frozen=True, omit_defaults=True, rename={"start": "from"}):
    """What a further shard says of itself.

    `cut` is the generation that a split of it makes. Until the index has that generation, no writer changes
    a row of it. From then on it may have rows that went to other shards; they do not count, and go with its
    next write.
    """

    version: Literal[1]
    digest: str
    start: EndpointKey | None = None
    cut: int = 0


def format_map_name(owner_id: str) -> str:
    """The first ConfigMap of this owner's registry. Raises UnstorableOwner, which names the owner."""
    if not _is_storable(owner_id):
        raise UnstorableOwner(
            f"The owner id {safe_text(owner_id)!r} cannot be kept in a ConfigMap registry: its ConfigMap "
            f"would be named after it, and such a name takes lower-case letters, digits, `-` and `.` only, "
            f"{MAX_OBJECT_NAME_LENGTH} characters at most. Nothing was written."
        )
    return f"{owner_id}-storage"


def parse_map_name(name: str) -> MapName | None:
    """Whose registry a ConfigMap of this name would be; None if it is no name of ours."""
    match = _MAP_NAME(name)
    if match is None or not _is_storable(match[1]):
        return None
    return MapName(match[1], int(match[2] or 0))


def build_index(first: str) -> Index:
    """The index of a registry that is a single map."""
    return Index(1, 0, (_build_shard(first, None, 0),))


def split_shard(
    index: Index, number: int, starts: Sequence[EndpointKey], taken: Collection[str] = ()
) -> Index:
    """The index with a shard split at `starts`; `taken` are names of other tools' maps.

    Raises RegistryError where there are shards enough.
    """
    first, generation = index.shards[0].name, index.generation + 1
    used = {*taken, *(shard.name for shard in index.shards)}
    names = [f"{first}-{new}" for new in range(1, MAX_SHARDS) if f"{first}-{new}" not in used]
    if len(names) < len(starts):
        raise RegistryError(f"The registry would need more than {MAX_SHARDS} ConfigMaps.")
    new = [_build_shard(name, start, generation) for name, start in zip(names, starts, strict=False)]
    return Index(1, generation, (*index.shards[: number + 1], *new, *index.shards[number + 1 :]))


def format_index(index: Index, rows: Sequence[int]) -> str:
    """The text of `data.index`, one shard a line, with the number of rows of each."""
    counted = [
        msgspec.structs.replace(shard, rows=count) for shard, count in zip(index.shards, rows, strict=True)
    ]
    lines = b",\n".join(b"  " + msgspec.json.encode(shard) for shard in counted).decode()
    return f'{{"version":{index.version},"generation":{index.generation},\n "shards":[\n{lines}\n]}}'


def parse_index(text: str, first: str) -> Index | None:
    """The index in the map `first`; None for whatever cannot be followed, or is of a newer release."""
    index = _decode(Index, text)
    if index is None:
        return None
    names = [shard.name for shard in index.shards]
    places = [shard.place for shard in index.shards]
    owners = {parsed and parsed.owner_id for parsed in map(parse_map_name, names)}
    is_followed = (
        names[0] == first
        and index.shards[0].start is None
        and len(owners) == 1
        and len({*names}) == len(names)
        and places == sorted({*places})
        and all(len(place.name) <= MAX_NAME_LENGTH for place in places)
    )
    return index if is_followed else None


def format_mark(shard: Shard, cut: int = 0) -> str:
    """The text of `data.shard`: what the shard in this place says of itself."""
    return msgspec.json.encode(ShardMark(1, shard.digest, shard.start, cut)).decode()


def parse_mark(text: str) -> ShardMark | None:
    """What a shard says of itself; None where it cannot be read, or is of a newer release."""
    return _decode(ShardMark, text)


def _is_storable(owner_id: str) -> bool:
    """Whether there is room in the name of a ConfigMap for the owner id and the number of a shard."""
    return is_object_name(f"{owner_id}-storage-{MAX_SHARDS}")


def _build_shard(name: str, start: EndpointKey | None, generation: int) -> Shard:
    """A shard's place in the layout of a generation."""
    place = msgspec.json.encode([name, start, generation])
    return Shard(name, 0, hashlib.sha256(place).hexdigest()[:_DIGEST_LENGTH], start)


def _decode(kind: type[_Read], text: str) -> _Read | None:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
