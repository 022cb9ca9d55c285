"""The proposal's resync: where a ConfigMap registry and its provider differ, and what makes them agree."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import islice

import msgspec

from providers.registries.configmap.registry import Registries, Registry, find_claimants, find_registry
from providers.registries.configmap.rows import NO_ENTRY, Entry, Row, build_row, has_targets_of
from providers.registries.gather import gather
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import WireError
from providers.wire.poison import safe_text

MAX_DIFFERENCES = 1000


class DifferenceKind(StrEnum):
    """How a registry and its provider differ over one record set."""

    ROW_WITHOUT_RECORD = "row_without_record"
    RECORD_WITHOUT_ROW = "record_without_row"
    OTHER_TARGETS = "other_targets"
    OTHER_OWNER = "other_owner"
    UNBELIEVABLE_ROW = "unbelievable_row"


class Difference(msgspec.Struct, frozen=True):
    """One difference, both sides in words."""

    kind: DifferenceKind
    key: EndpointKey
    in_registry: str
    at_provider: str


class Comparison(msgspec.Struct, frozen=True):
    """The first differences, and how many there are beyond them."""

    differences: tuple[Difference, ...] = ()
    further: int = 0


def compare_with_provider(
    registry: Registry, endpoints: Iterable[Endpoint], owners: Mapping[EndpointKey, str]
) -> Comparison:
    """Where rows and record sets differ, rows in their order first.

    `owners` are the owners of record sets by whatever registry: a row must not be without an owner
    where another owns its record set.
    """
    rows = {key: entry.rows[0] for key, entry in registry.entries.items() if entry.rows}
    found = _find_differences(rows, _read_endpoints_by_key(endpoints), _list_others(registry, owners))
    return Comparison(tuple(islice(found, MAX_DIFFERENCES)), sum(1 for _ in found))


def build_rebuild(
    registries: Registries, owner_id: str, endpoints: Iterable[Endpoint], owners: Mapping[EndpointKey, str]
) -> dict[EndpointKey, Entry]:
    """The entries with which the registry of an owner agrees with the provider.

    Every record set gets a row: the owner's own keep owner and labels, an intent that came true becomes a
    row, all others name who claims them in a map of its own, or in `owners`, or whom they named before, or
    no owner. Rows without a record set go, but not the owner's own: its record sets may be on their way. What
    is not valid is left as it stands.
    """
    registry, records = find_registry(registries, owner_id), _read_endpoints_by_key(endpoints)
    others = {**_list_others(registry, owners), **find_claimants(registries, owner_id)}
    wanted = {}
    for key in {**records, **registry.entries}:
        standing, claim = registry.entries.get(key, NO_ENTRY), registry.claim_of(key)
        if (claim and claim.problem) or any(row.problem for row in standing.rows):
            continue
        if key in records:
            wanted[key] = _build_entry(registry, standing, records[key], others.get(key, ""))
        elif all(row.owner_id != owner_id for row in standing.rows):
            wanted[key] = Entry((), standing.intents)
    return wanted


def _list_others(registry: Registry, owners: Mapping[EndpointKey, str]) -> dict[EndpointKey, str]:
    """Who else owns what: the owner's own claims are in its own rows alone."""
    return {key: owner_id for key, owner_id in owners.items() if owner_id != registry.owner_id}


def _build_entry(registry: Registry, standing: Entry, record: Endpoint, other: str) -> Entry:
    """The entry of a record set that the provider shows."""
    rows, intents = standing.rows[:1], standing.intents
    owner_id, labels = registry.owner_id, {}
    if rows and rows[0].owner_id == owner_id:
        labels = rows[0].labels
    elif intents and has_targets_of(intents[0], record):
        labels, intents = intents[0].labels, ()
    else:
        owner_id = other or next((row.owner_id for row in rows if row.owner_id), "")
    try:
        return Entry((build_row(record, owner_id, labels, *rows),), intents)
    except WireError:
        return standing  # no reader would take such a row


def _read_endpoints_by_key(endpoints: Iterable[Endpoint]) -> dict[EndpointKey, Endpoint]:
    """The record sets a provider shows; one that it lists as several endpoints with all their targets."""
    gathered = gather(endpoints)
    return {each.key: each.endpoint for each in (*gathered.records.values(), *gathered.texts.values())}


def _find_differences(
    rows: Mapping[EndpointKey, Row],
    records: Mapping[EndpointKey, Endpoint],
    others: Mapping[EndpointKey, str],
) -> Iterator[Difference]:
    for key in {**rows, **records}:
        row, record, other = rows.get(key), records.get(key), others.get(key, "")
        if row is None:
            kind = DifferenceKind.RECORD_WITHOUT_ROW
        elif row.problem:
            kind = DifferenceKind.UNBELIEVABLE_ROW
        elif record is None:
            kind = DifferenceKind.ROW_WITHOUT_RECORD
        elif not has_targets_of(row, record):
            kind = DifferenceKind.OTHER_TARGETS
        elif other and not row.owner_id:
            kind = DifferenceKind.OTHER_OWNER
        else:
            continue
        shown = _describe_targets(record) if record else "no record set"
        owned = f", owned by {safe_text(other)}" if kind is DifferenceKind.OTHER_OWNER else ""
        yield Difference(kind, key, _describe_row(row), shown + owned)


def _describe_row(row: Row | None) -> str:
    if row is None or row.problem:
        return safe_text(row.problem) if row else "no row"
    owner = f"owned by {safe_text(row.owner_id)}" if row.owner_id else "unmanaged"
    return f"{_describe_targets(row)}, {owner}"


def _describe_targets(record: Row | Endpoint) -> str:
    return safe_text(", ".join(record.targets)) or "no targets"
