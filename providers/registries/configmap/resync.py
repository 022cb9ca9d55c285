"""The proposal's resync: where a ConfigMap registry and its provider differ, and what makes them agree."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import islice
from types import MappingProxyType

import msgspec

from providers.registries.configmap.registry import Registry
from providers.registries.configmap.rows import NO_ENTRY, Entry, Row, build_row, has_targets_of
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.change_set import merge_parts
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import WireError
from providers.wire.poison import safe_text

MAX_DIFFERENCES = 1000
NO_OWNERS: Mapping[EndpointKey, str] = MappingProxyType({})
_LISTED_TARGETS = 5


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
    """The first differences, and how many there are beyond them.

    `keyless` counts rows without a readable record set: they stay where they stand.
    """

    differences: tuple[Difference, ...] = ()
    further: int = 0
    keyless: int = 0


def compare_with_provider(
    registry: Registry, endpoints: Iterable[Endpoint], owners: Mapping[EndpointKey, str] = NO_OWNERS
) -> Comparison:
    """Where rows and record sets differ, rows in their order first.

    `owners` are the owners of record sets by whatever registry: a row must not be without an owner
    where another owns its record set.
    """
    found = _find_differences(registry, _read_endpoints_by_key(endpoints), owners)
    listed = tuple(islice(found, MAX_DIFFERENCES))
    return Comparison(listed, sum(1 for _ in found), registry.keyless)


def build_rebuild(
    registry: Registry,
    endpoints: Iterable[Endpoint],
    claimants: Mapping[EndpointKey, str] = NO_OWNERS,
    *,
    keep_own: bool,
) -> dict[EndpointKey, Entry]:
    """The edits that make the registry agree with the provider, and nothing for what agrees already.

    Every record set gets a row: the owner's own keep owner and labels, an intent that came true becomes a
    row, all others name who claims them in `claimants` (in whatever registry), or whom they named before, or
    no owner. Rows without a record set go, but with `keep_own` not the owner's own: its record sets may be on
    their way. What is not valid is left as it stands.
    """
    owner_id = registry.owner_id
    records = _read_endpoints_by_key(endpoints)
    edits = {}
    for key in [*records, *(registry.entries.keys() - records.keys())]:
        standing = registry.entries.get(key, NO_ENTRY)
        claim = registry.claim_of(key)
        if (claim and claim.problem) or any(row.problem for row in standing.rows):
            continue
        if key in records:
            entry = _build_entry(owner_id, standing, records[key], _find_other(owner_id, key, claimants))
        elif not keep_own:
            entry = NO_ENTRY
        elif any(row.owner_id == owner_id for row in standing.rows):
            continue
        else:
            entry = Entry((), standing.intents)
        if not _says_the_same(standing, entry):
            edits[key] = entry
    return edits


def _find_other(owner_id: str, key: EndpointKey, owners: Mapping[EndpointKey, str]) -> str:
    """Who else owns a record set: the owner's own claims are in its own rows alone."""
    found = owners.get(key, "")
    return found if found != owner_id else ""


def _build_entry(owner_id: str, standing: Entry, record: Endpoint, claimant: str) -> Entry:
    """The entry of a record set that the provider shows."""
    row, intents = next(iter(standing.rows), None), standing.intents
    try:
        if row is not None and row.owner_id == owner_id:
            return Entry((build_row(record, owner_id, row.labels, row),), intents)
        if intents and has_targets_of(intents[0], record):
            return Entry((build_row(record, owner_id, intents[0].labels, row),))
        other = claimant or (row.owner_id or "" if row else "")
        return Entry((build_row(record, other, {}, row),), intents)
    except WireError:
        return standing  # no reader would take such a row


def _says_the_same(standing: Entry, entry: Entry) -> bool:
    if standing.intents != entry.intents or bool(standing.rows) != bool(entry.rows):
        return False
    return all(
        (old.owner_id, old.labels) == (new.owner_id, new.labels) and has_targets_of(old, new)
        for old, new in zip(standing.rows, entry.rows, strict=False)
    )


def _read_endpoints_by_key(endpoints: Iterable[Endpoint]) -> dict[EndpointKey, Endpoint]:
    """The record sets a provider shows; one that it lists as several endpoints with all their targets."""
    found: dict[EndpointKey, list[Endpoint]] = {}
    for endpoint in endpoints:
        try:
            found.setdefault(endpoint_key(endpoint), []).append(endpoint)
        except InvalidName:
            continue  # no row could be about it
    return {key: merge_parts(parts) for key, parts in found.items()}


def _find_differences(
    registry: Registry, records: Mapping[EndpointKey, Endpoint], owners: Mapping[EndpointKey, str]
) -> Iterator[Difference]:
    rows = {key: entry.rows[0] for key, entry in registry.entries.items() if entry.rows}
    for key, row in rows.items():
        record = records.get(key)
        other = _find_other(registry.owner_id, key, owners)
        shown = _describe_targets(record.targets) if record else "no record set"
        if row.problem:
            yield Difference(DifferenceKind.UNBELIEVABLE_ROW, key, safe_text(row.problem), shown)
        elif record is None:
            yield Difference(DifferenceKind.ROW_WITHOUT_RECORD, key, _describe_row(row), shown)
        elif not has_targets_of(row, record):
            yield Difference(DifferenceKind.OTHER_TARGETS, key, _describe_row(row), shown)
        elif other and not row.owner_id:
            shown = f"{shown}, owned by {safe_text(other)}"
            yield Difference(DifferenceKind.OTHER_OWNER, key, _describe_row(row), shown)
    for key, record in records.items():
        if key not in rows:
            shown = _describe_targets(record.targets)
            yield Difference(DifferenceKind.RECORD_WITHOUT_ROW, key, "no row", shown)


def _describe_row(row: Row) -> str:
    owner = f"owned by {safe_text(row.owner_id)}" if row.owner_id else "unmanaged"
    return f"{_describe_targets(row.targets)}, {owner}"


def _describe_targets(targets: tuple[str, ...]) -> str:
    if not targets:
        return "no targets"
    words = ", ".join(safe_text(target) for target in targets[:_LISTED_TARGETS])
    rest = len(targets) - _LISTED_TARGETS
    return f"{words} and {rest} more" if rest > 0 else words
