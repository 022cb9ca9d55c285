"""Which ConfigMaps are an owner's registry, and which record sets are in which of them.

The first is `<owner id>-storage`. Where it cannot hold all rows, further ones (shards) do: their names are
that of the first with a number, they are written once and never changed, and `data.index` of the first, which
a person can read, says which of them count and where each begins.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

import msgspec

from providers.registries.errors import RegistryError
from providers.registries.kubernetes_object import MAX_OBJECT_NAME_LENGTH, is_object_name
from providers.wire.endpoint import EndpointKey
from providers.wire.poison import safe_text

MAX_SHARDS = 256
# Names for shards: those that count, those that replace them, and those that were left over.
MAX_SHARD_NUMBER = 999
FIRST_PLACE = EndpointKey("", "", "")
_MAP_NAME = re.compile(r"(.+)-storage(?:-([1-9][0-9]{0,2}))?", re.DOTALL).fullmatch


class MapName(NamedTuple):
    """Whose registry a ConfigMap belongs to, and the number in its name; 0 is the first."""

    owner_id: str
    number: int


class _Shard(msgspec.Struct, frozen=True, omit_defaults=True, rename={"start": "from", "name": "map"}):
    name: str
    start: EndpointKey | None = None


class _Index(msgspec.Struct, frozen=True):
    version: Literal[1, 2]  # 1: shards of an earlier release, which it changed in place
    shards: Annotated[tuple[_Shard, ...], msgspec.Meta(min_length=1, max_length=MAX_SHARDS)]


# The maps that count, and the first record set that may be in each, in the order of record sets.
Places = Sequence[tuple[str, EndpointKey]]


def format_map_name(owner_id: str) -> str:
    """The first ConfigMap of this owner's registry. Raises RegistryError, which names the owner."""
    if not _is_storable(owner_id):
        raise RegistryError(
            f"The owner id {safe_text(owner_id)!r} cannot be kept in a ConfigMap registry: the name of a "
            f"ConfigMap takes {MAX_OBJECT_NAME_LENGTH} lower-case letters, digits, `-` and `.` at most."
        )
    return f"{owner_id}-storage"


def parse_map_name(name: str) -> MapName | None:
    """Whose registry a ConfigMap of this name would be; None if it is no name of ours."""
    match = _MAP_NAME(name)
    if match is None or not _is_storable(match[1]):
        return None
    return MapName(match[1], int(match[2] or 0))


def format_index(places: Places) -> str:
    """The text of `data.index`, one shard a line."""
    shards = [_Shard(name, None if start == FIRST_PLACE else start) for name, start in places]
    lines = b",\n".join(b"  " + msgspec.json.encode(shard) for shard in shards).decode()
    return f'{{"version":2,\n "shards":[\n{lines}\n]}}'


def parse_index(text: str, first: str) -> Places | None:
    """What the index in the map `first` says; None for whatever cannot be followed, or is of a newer
    release."""
    try:
        shards = msgspec.json.decode(text, type=_Index).shards
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    places = [(shard.name, shard.start or FIRST_PLACE) for shard in shards]
    starts = [start for _, start in places]
    is_followed = places[0] == (first, FIRST_PLACE) and starts == sorted({*starts})
    are_ours = all(name.rpartition("-")[0] == first and parse_map_name(name) for name, _ in places[1:])
    return places if is_followed and are_ours else None


def _is_storable(owner_id: str) -> bool:
    """Whether there is room in the name of a ConfigMap for the owner id and the number of a shard."""
    return is_object_name(f"{owner_id}-storage-{MAX_SHARD_NUMBER}")
