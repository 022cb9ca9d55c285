"""One shard of a ConfigMap registry: what is in it, how much room that takes, and where it is cut."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from providers.registries.configmap.index import Index, ShardEntry, ShardMark, format_index, format_mark
from providers.registries.configmap.rows import Row, RowList, format_rows
from providers.registries.errors import RegistryError
from providers.wire.endpoint import EndpointKey

RECORDS = "records"
INTENTS = "intents"
INDEX = "index"
SHARD = "shard"
# A Kubernetes API takes 1 MiB of data in one ConfigMap. What is between is for whatever else is put in it.
MAX_MAP_BYTES = 900 * 1024
# A shard that was cut has room to grow.
_FILL = 0.6


class NoRoom(RegistryError):
    """Rows that no ConfigMap has room for."""


class Shard(msgspec.Struct, frozen=True):
    """A shard as it stands. It speaks for the record sets from its entry's start up to `end`.

    `other_bytes` is the size of the data in it that is not ours. The first shard has no mark.
    """

    entry: ShardEntry
    mark: ShardMark | None = None
    end: EndpointKey | None = None
    rows: RowList = RowList()
    intents: RowList = RowList()
    other_bytes: int = 0

    def holds(self, key: EndpointKey) -> bool:
        """Whether the record set belongs in this shard."""
        return (self.entry.start or ()) <= key and (self.end is None or key < self.end)


class Edit(msgspec.Struct, frozen=True, gc=False):
    """How the row and the intent of one record set are to stand afterwards; None: not at all."""

    key: EndpointKey
    row: Row | None = None
    intent: Row | None = None


def apply_edits(shard: Shard, edits: Mapping[EndpointKey, Edit]) -> Shard:
    """The shard with these edits made, its rows in order. All else in it stays."""
    return msgspec.structs.replace(
        shard,
        rows=_replace_rows(shard.rows, {key: edit.row for key, edit in edits.items()}),
        intents=_replace_rows(shard.intents, {key: edit.intent for key, edit in edits.items()}),
    )


def format_data(shard: Shard, index: Index) -> dict[str, str | None]:
    """What is written into the `data` of the shard's ConfigMap; None: the key goes."""
    return {
        RECORDS: _format_list(shard.rows),
        INTENTS: _format_list(shard.intents) if shard.intents.rows or shard.intents.unreadable else None,
        INDEX: format_index(index) if shard.mark is None else None,
        SHARD: format_mark(shard.mark) if shard.mark is not None else None,
    }


def measure(shard: Shard, index: Index) -> int:
    """The bytes of all data of the shard's ConfigMap, keys and values. An API counts values only."""
    return shard.other_bytes + measure_data(format_data(shard, index))


def measure_data(data: Mapping[str, str | None]) -> int:
    """The bytes of keys and values."""
    return sum(
        len(key.encode()) + len(value.encode(errors="replace"))
        for key, value in data.items()
        if value is not None
    )


def find_cuts(shard: Shard, index: Index, limit: int) -> list[EndpointKey]:
    """Where a shard that is too large is cut: the first record set of each new shard.

    The answer rests on what is in the shard, not on any order. Raises NoRoom where cutting is no help.
    """
    if not all(shard.holds(row.key) for row in (*shard.rows.rows, *shard.intents.rows)):
        raise NoRoom(f"The ConfigMap {shard.entry.name} is full, and has rows that belong in another shard.")
    empty = apply_edits(shard, {row.key: Edit(row.key) for row in (*shard.rows.rows, *shard.intents.rows)})
    target = int(limit * _FILL)
    size = measure(empty, index)
    cuts: list[EndpointKey] = []
    for key, weight in sorted(_weigh([*shard.rows.rows, *shard.intents.rows]).items()):
        if size + weight > target and key != shard.entry.start:
            cuts.append(key)
            size = 0
        size += weight
    if not cuts:
        raise NoRoom(f"The ConfigMap {shard.entry.name} has no room for one more row.")
    return cuts


def count_rows(shard: Shard, cuts: Sequence[EndpointKey]) -> list[int]:
    """How many rows stay in the shard, and how many go to each new one."""
    counts = [0] * (len(cuts) + 1)
    place = 0
    for row in sorted(shard.rows.rows, key=_key):
        while place < len(cuts) and row.key >= cuts[place]:
            place += 1
        counts[place] += 1
    return counts


def select_rows(shard: Shard, entry: ShardEntry, end: EndpointKey | None, mark: ShardMark) -> Shard:
    """A new shard with those rows of this one that belong there."""
    new = Shard(entry, mark, end)
    return msgspec.structs.replace(
        new,
        rows=RowList(tuple(row for row in shard.rows.rows if new.holds(row.key))),
        intents=RowList(tuple(row for row in shard.intents.rows if new.holds(row.key))),
    )


def trim_rows(shard: Shard, end: EndpointKey) -> Shard:
    """The shard without the rows from `end` on. All else in it stays."""
    return msgspec.structs.replace(
        shard, end=end, rows=_list_below(shard.rows, end), intents=_list_below(shard.intents, end)
    )


def _list_below(found: RowList, end: EndpointKey) -> RowList:
    return RowList(tuple(row for row in found.rows if row.key < end), found.unreadable)


def _replace_rows(found: RowList, wanted: Mapping[EndpointKey, Row | None]) -> RowList:
    rows = [row for row in found.rows if row.key not in wanted]
    rows += [row for row in wanted.values() if row is not None]
    return RowList(tuple(sorted(rows, key=_key)), found.unreadable)


def _format_list(found: RowList) -> str:
    return format_rows([*(row.raw for row in found.rows), *(row.raw for row in found.unreadable)])


def _weigh(rows: Iterable[Row]) -> dict[EndpointKey, int]:
    """The bytes of each record set's rows: they are not parted."""
    weights: dict[EndpointKey, int] = {}
    for row in rows:
        weights[row.key] = weights.get(row.key, 0) + len(row.raw) + len(",\n")
    return weights


def _key(row: Row) -> EndpointKey:
    return row.key
