"""The data of one ConfigMap of a registry: its rows and intents by record set, and how large it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from providers.registries.configmap.claims import read_claim
from providers.registries.configmap.index import UnreadableIndex, parse_mark
from providers.registries.configmap.names import parse_map_name
from providers.registries.configmap.rows import Entry, RowList, UnreadableRow, group_rows, parse_rows
from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_object, read_texts
from providers.registries.stored_claim import StoredClaim
from providers.wire.endpoint import EndpointKey

RECORDS = "records"
INTENTS = "intents"
INDEX = "index"
SHARD = "shard"
OUR_KEYS = (RECORDS, INTENTS, INDEX, SHARD)


@dataclass(frozen=True)
class MapRows:
    """The rows and intents of one ConfigMap of an owner, and those that speak for no record set.

    `other_bytes` is the size of the data in it that is not ours.
    """

    owner_id: str
    entries: Mapping[EndpointKey, Entry]
    unreadable: tuple[UnreadableRow, ...] = ()
    unreadable_intents: tuple[UnreadableRow, ...] = ()
    other_bytes: int = 0

    @cached_property
    def claims(self) -> tuple[StoredClaim, ...]:
        """What the owner claims here."""
        found = (read_claim(self.owner_id, key, entry) for key, entry in self.entries.items())
        return tuple(claim for claim in found if claim is not None)

    @cached_property
    def _ends(self) -> tuple[EndpointKey, EndpointKey]:
        return min(self.entries), max(self.entries)

    def is_between(self, start: EndpointKey, end: EndpointKey | None) -> bool:
        """Whether all record sets are from `start` on, and before `end`."""
        return not self.entries or (start <= self._ends[0] and (end is None or self._ends[1] < end))

    @cached_property
    def count(self) -> int:
        """All rows and intents, what cannot be read too."""
        read = sum(len(entry.rows) + len(entry.intents) for entry in self.entries.values())
        return read + len(self.unreadable) + len(self.unreadable_intents)


@dataclass(frozen=True)
class MapData:
    """A ConfigMap that is named as one of a registry. Its rows are read when they are asked for, once."""

    obj: KubernetesObject
    max_items: int

    @property
    def name(self) -> str:
        return read_metadata(self.obj, "name")

    @property
    def namespace(self) -> str:
        return read_metadata(self.obj, "namespace")

    @cached_property
    def texts(self) -> dict[str, str]:
        """What it has under our keys."""
        texts = read_texts(self.obj, "data")
        return {key: texts[key] for key in OUR_KEYS if key in texts}

    @cached_property
    def rows(self) -> MapRows:
        """Raises WireError where they are no JSON arrays."""
        parsed = parse_map_name(self.name)
        rows, intents = (
            parse_rows(self.texts[key], self.max_items) if key in self.texts else RowList()
            for key in (RECORDS, INTENTS)
        )
        others = {key: text for key, text in read_texts(self.obj, "data").items() if key not in OUR_KEYS}
        # Base64 text is longer than the bytes it stands for: this errs on the safe side.
        other_bytes = measure_data({**others, **read_texts(self.obj, "binaryData")})
        return MapRows(
            parsed.owner_id if parsed else "",
            group_rows(rows.rows, intents.rows),
            rows.unreadable,
            intents.unreadable,
            other_bytes,
        )

    def is_empty(self) -> bool:
        return not read_object(self.obj, "data") and not read_object(self.obj, "binaryData")

    def is_shard(self) -> bool:
        """Whether it says that it is a further shard of a registry."""
        try:
            return bool(parse_mark(self.texts.get(SHARD, "")))
        except UnreadableIndex:
            return False


def measure_data(data: Mapping[str, str]) -> int:
    """The bytes of keys and values. An API counts values only."""
    return sum(len(key.encode()) + len(value.encode(errors="replace")) for key, value in data.items())
