"""A ConfigMap registry beside what its provider shows: where the two differ, for people to see."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from providers.registries.configmap.rows import Row
from providers.wire.canonical_name import InvalidName, canonical_targets, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.endpoint_parts import merge_parts
from providers.wire.poison import safe_text

MAX_DIFFERENCES = 1000
NO_OWNERS: Mapping[EndpointKey, str] = MappingProxyType({})
_LISTED_TARGETS = 5
_NO_ROW = "no row"
_NO_RECORD = "no record set"


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

    `keyless` counts rows that speak for no record set anybody could tell: they stay where they stand.
    """

    differences: tuple[Difference, ...] = ()
    further: int = 0
    keyless: int = 0


def compare_with_provider(
    rows: Iterable[Row],
    endpoints: Iterable[Endpoint],
    *,
    owners: Mapping[EndpointKey, str] = NO_OWNERS,
    limit: int = MAX_DIFFERENCES,
) -> Comparison:
    """Where rows and record sets differ, rows in their order first. The time is linear in both. `owners` are
    other owners of record sets, by whatever registry: their rows must not say that nobody owns them."""
    found: list[Difference] = []
    further = 0
    for difference in _find_differences(rows, read_endpoints_by_key(endpoints), owners):
        if len(found) < limit:
            found.append(difference)
        else:
            further += 1
    return Comparison(tuple(found), further)


def read_endpoints_by_key(endpoints: Iterable[Endpoint]) -> dict[EndpointKey, Endpoint]:
    """The record sets a provider shows; one that it lists as several endpoints with all their targets."""
    found: dict[EndpointKey, list[Endpoint]] = {}
    for endpoint in endpoints:
        try:
            found.setdefault(endpoint_key(endpoint), []).append(endpoint)
        except InvalidName:
            continue  # no row could be about it
    return {key: merge_parts(parts) for key, parts in found.items()}


def has_targets_of(row: Row, record: Row | Endpoint) -> bool:
    """Whether the two name the same targets, as ExternalDNS compares them."""
    if row.targets == record.targets:
        return True
    kind = row.key.record_type
    mine, other = (Endpoint(record_type=kind, targets=each.targets) for each in (row, record))
    return canonical_targets(mine) == canonical_targets(other)


def describe_key(key: EndpointKey) -> str:
    """A record set in words."""
    words = f"{key.name} {key.record_type}"
    return f"{words} ({safe_text(key.set_identifier)})" if key.set_identifier else words


def _find_differences(
    rows: Iterable[Row], records: Mapping[EndpointKey, Endpoint], owners: Mapping[EndpointKey, str]
) -> Iterator[Difference]:
    seen: set[EndpointKey] = set()
    for row in rows:
        if row.key not in seen:
            seen.add(row.key)
            yield from _compare(row, records.get(row.key), owners.get(row.key, ""))
    for key, record in records.items():
        if key not in seen:
            kind = DifferenceKind.RECORD_WITHOUT_ROW
            yield Difference(kind, key, _NO_ROW, _describe_targets(record.targets))


def _compare(row: Row, record: Endpoint | None, owner_id: str) -> Iterator[Difference]:
    shown = _describe_targets(record.targets) if record else _NO_RECORD
    if row.problem:
        yield Difference(DifferenceKind.UNBELIEVABLE_ROW, row.key, safe_text(row.problem), shown)
    elif record is None:
        yield Difference(DifferenceKind.ROW_WITHOUT_RECORD, row.key, _describe_row(row), shown)
    elif not has_targets_of(row, record):
        yield Difference(DifferenceKind.OTHER_TARGETS, row.key, _describe_row(row), shown)
    elif owner_id and not row.owner_id:
        shown = f"{shown}, owned by {safe_text(owner_id)}"
        yield Difference(DifferenceKind.OTHER_OWNER, row.key, _describe_row(row), shown)


def _describe_row(row: Row) -> str:
    owner = f"owned by {safe_text(row.owner_id)}" if row.owner_id else "unmanaged"
    return f"{_describe_targets(row.targets)}, {owner}"


def _describe_targets(targets: tuple[str, ...]) -> str:
    if not targets:
        return "no targets"
    words = ", ".join(safe_text(target) for target in targets[:_LISTED_TARGETS])
    rest = len(targets) - _LISTED_TARGETS
    return f"{words} and {rest} more" if rest > 0 else words
