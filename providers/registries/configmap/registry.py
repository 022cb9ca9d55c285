"""The ConfigMap registries of a namespace, each put together from the data of its ConfigMaps."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from providers.registries.configmap.layout import FIRST_PLACE, Places, parse_index, parse_map_name
from providers.registries.configmap.rows import NO_ENTRY, Entries, Entry, Row, group_rows, parse_rows
from providers.registries.errors import RegistryError, UnwritableLabel
from providers.registries.kubernetes_object import KubernetesObject, read_metadata, read_texts
from providers.registries.labels import OWNER, describe_unreadable_owner, format_labels
from providers.registries.stored_claim import StoredClaim
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_shape import raise_if_too_many

RECORDS = "records"
INTENTS = "intents"
INDEX = "index"
SHARD = "shard"
OUR_KEYS = (RECORDS, INTENTS, INDEX, SHARD)
_END = EndpointKey("\U0010ffff", "", "")  # after all record sets


class UnreadableRegistry(RegistryError):
    """A registry that cannot be read as a whole: never taken for an empty one. Its ConfigMap is named."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"The ConfigMap {name} {reason}.")


@dataclass(frozen=True)
class MapData:
    """A ConfigMap of one of our names. Its rows are read when they are asked for, once."""

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
        found = (read_claim(parsed.owner_id, *each) for each in self.entries.items()) if parsed else ()
        return [claim for claim in found if claim is not None]

    @property
    def other_bytes(self) -> int:
        """The size of the data in it that is not ours."""
        others = (pair for pair in read_texts(self.obj, "data").items() if pair[0] not in OUR_KEYS)
        return sum(len(key) + len(text.encode(errors="replace")) for key, text in others)


@dataclass(frozen=True)
class Shard:
    """One ConfigMap of a registry: the record sets from `start` up to the next shard's."""

    name: str
    start: EndpointKey
    entries: Entries
    data: MapData | None = None


@dataclass(frozen=True)
class Registry:
    """The registry of one owner.

    `has_index`: its first map says which maps count. `left_over` are maps of a write that was not finished,
    or that a finished one replaced and did not delete: they do not count.
    """

    owner_id: str
    shards: tuple[Shard, ...]
    has_index: bool = False
    left_over: tuple[str, ...] = ()

    @cached_property
    def entries(self) -> Entries:
        """The entries of all record sets, of others' and unmanaged ones too."""
        return {key: entry for shard in self.shards for key, entry in shard.entries.items()}

    @property
    def places(self) -> Places:
        """What its index says."""
        return [(shard.name, shard.start) for shard in self.shards]

    @property
    def claims(self) -> list[StoredClaim]:
        """What this owner claims, each record set once; of a registry as it was read."""
        pairs = ((shard, shard.data.claims) for shard in self.shards if shard.data)
        return [claim for shard, claims in pairs for claim in claims if claim.key in shard.entries]

    def claim_of(self, key: EndpointKey) -> StoredClaim | None:
        """What this owner claims of one record set."""
        return read_claim(self.owner_id, key, self.entries.get(key, NO_ENTRY))

    def number_of(self, key: EndpointKey) -> int:
        """Which of the shards a record set belongs in."""
        return bisect_right(self.shards, key, key=lambda shard: shard.start) - 1


Registries = Mapping[str, Registry]


def find_registry(registries: Registries, owner_id: str) -> Registry:
    """The registry of an owner, or a new one."""
    return registries.get(owner_id) or Registry(owner_id, (Shard(f"{owner_id}-storage", FIRST_PLACE, {}),))


def find_claimants(registries: Registries, but: str) -> dict[EndpointKey, str]:
    """Who claims what in a map of its own, but for one owner."""
    others = ((owner_id, each) for owner_id, each in sorted(registries.items()) if owner_id != but)
    return {claim.key: other for other, each in others for claim in each.claims if claim.is_settled}


def read_registries(maps: Mapping[str, MapData], max_items: int) -> dict[str, Registry]:
    """All registries in the ConfigMaps of a namespace, by owner. Raises UnreadableRegistry."""
    further: defaultdict[str, list[str]] = defaultdict(list)
    for name, data in maps.items():
        parsed = parse_map_name(name)
        if parsed and (not parsed.number or {SHARD, RECORDS} <= data.texts.keys()):
            further[parsed.owner_id] += [name] if parsed.number else []
    found = (_read_registry(owner_id, maps, names, max_items) for owner_id, names in further.items())
    return {registry.owner_id: registry for registry in found if registry is not None}


def _read_registry(
    owner_id: str, maps: Mapping[str, MapData], further: Sequence[str], max_items: int
) -> Registry | None:
    """The registry of an owner; None where the map of its name is another tool's."""
    first = f"{owner_id}-storage"
    texts = maps[first].texts if first in maps else {}
    index = parse_index(texts.get(INDEX, ""), first)
    if RECORDS not in texts:
        if index:
            raise UnreadableRegistry(first, "has lost its `records`")
        if not further:
            return None
    if further and INDEX not in texts:
        # The index was written before its shards: another program deleted it, or wrote over it.
        raise UnreadableRegistry(first, f"is gone or has lost its index, and its shard {further[0]} is there")
    if index is None and INDEX in texts:
        raise UnreadableRegistry(first, "has an index that cannot be followed, or is of a newer release")
    shards = tuple(_read_shards(index or ((first, FIRST_PLACE),), maps, max_items))
    left_over = {*further} - {shard.name for shard in shards}
    return Registry(owner_id, shards, index is not None, tuple(sorted(left_over)))


def _read_shards(index: Places, maps: Mapping[str, MapData], max_items: int) -> Iterator[Shard]:
    first, count = index[0][0], 0
    for (name, start), (_, end) in zip(index, (*index[1:], ("", _END)), strict=True):
        data = maps.get(name)
        if data is None or RECORDS not in data.texts:
            raise UnreadableRegistry(
                first, f"has an index that names {name}, which is gone or has no `records`"
            )
        try:
            entries = data.entries
            count += sum(len(entry.all_rows) for entry in entries.values())
            raise_if_too_many(count, max_items)
        except WireError as error:
            raise UnreadableRegistry(name, f"has rows that cannot be read: {error.reason}") from error
        if not all(start <= key < end for key in entries):
            # They went to another shard when an earlier release split this one, and do not count here.
            entries = {key: entries[key] for key in entries if start <= key < end}
        yield Shard(name, start, entries, data)


def read_claim(owner_id: str, key: EndpointKey, entry: Entry) -> StoredClaim | None:
    """What an entry claims for the owner whose map it is in, if anything. Rows of others are no claims."""
    # A row whose owner cannot be read may be the owner's: better a claim with a problem than no claim.
    own = [row for row in entry.rows if row.owner_id in (owner_id, None)]
    if not own and not entry.intents:
        return None
    row, beside = (own[0], entry.rows) if own else (entry.intents[0], entry.intents)
    text, problem = _read_text(owner_id, row)
    if not problem and len(beside) > 1:
        problem = "Its record set has more than one row, so it is not known which one is meant."
    if not problem and not own and not row.targets:
        problem = "The intent does not say which targets are meant."
    return StoredClaim(key, text, problem, None if problem or own else row.targets)


def _read_text(owner_id: str, row: Row) -> tuple[str, str]:
    """The text of a row, as far as it has one, and what is wrong with it."""
    labels = {OWNER: owner_id, **row.labels}
    if row.problem or row.owner_id is None:
        return "", row.problem or "The row names no owner."
    if {row.owner_id, labels[OWNER]} != {owner_id}:
        return "", "It names another owner than the one whose map it is in."
    try:
        return format_labels(labels, quoted=False), describe_unreadable_owner(labels)
    except UnwritableLabel as error:
        return "", str(error)
