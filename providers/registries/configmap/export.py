"""A whole ConfigMap registry as one document, so that it outlives its cluster; and bringing one back."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Literal

import msgspec

from providers.registries.configmap.claims import read_claim
from providers.registries.configmap.registry import Registry
from providers.registries.configmap.rows import NO_ENTRY, Entry, Row, describe_key, group_rows, read_row
from providers.registries.errors import RegistryError
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_shape import raise_if_malformed, raise_if_too_many, strip_frame

EXPORT_VERSION = 1
_KIND = "configmap-registry"
MAX_EXPORT_BYTES = 256 * 1024 * 1024
# The document, its rows, a row, its labels.
_ROW_DEPTH = 2
_ENCODER = msgspec.json.Encoder()


class UnusableExport(RegistryError):
    """A document that is no export of a registry, or not a whole one; nothing of it was used."""


class UnfittingExport(RegistryError):
    """An export that contradicts what stands where it is to be restored; nothing was written."""


class Export(msgspec.Struct, frozen=True):
    """An owner's registry at one moment: all its rows, its intents, and how many rows had to stay behind."""

    owner_id: str
    exported_at: datetime
    rows: tuple[Row, ...]
    intents: tuple[Row, ...]
    left_out: int = 0


class _Document(msgspec.Struct, frozen=True, rename={"exported_at": "exportedAt", "left_out": "leftOut"}):
    kind: Literal["configmap-registry"]
    version: int
    owner: str
    exported_at: datetime
    left_out: int
    digest: str
    records: list[msgspec.Raw]
    intents: list[msgspec.Raw]


_DECODER = msgspec.json.Decoder(_Document)


def export_registry(registry: Registry, *, when: datetime) -> bytes:
    """The document of a registry. What cannot be believed stays behind and is counted."""
    owner_id = registry.owner_id
    entries = list(_list_believed(registry))
    records = sorted(row.raw for entry in entries for row in entry.rows)
    intents = sorted(intent.raw for entry in entries for intent in entry.intents)
    head = {
        "kind": _KIND,
        "version": EXPORT_VERSION,
        "owner": owner_id,
        "exportedAt": when,
        "leftOut": sum(each.count for each in registry.maps) - len(records) - len(intents),
        "digest": _compute_digest(owner_id, when, records, intents),
    }
    lists = (b",\n".join(records), b",\n".join(intents))
    return _ENCODER.encode(head)[:-1] + b',\n"records":[\n%b\n],\n"intents":[\n%b\n]}\n' % lists


def parse_export(document: bytes, *, max_items: int) -> Export:
    """The export in a document. Raises UnusableExport, and then nothing of it may be used."""
    if len(document) > MAX_EXPORT_BYTES:
        raise UnusableExport(f"The export is larger than {MAX_EXPORT_BYTES} bytes.")
    try:
        body = strip_frame(document)
        if not body.startswith(b"{"):
            raise UnusableExport("This is no export of a ConfigMap registry.")
        raise_if_malformed(body, item_depth=_ROW_DEPTH, max_items=max_items)
        found = _DECODER.decode(body)
        raise_if_too_many(len(found.records) + len(found.intents), max_items)
    except WireError as error:
        raise UnusableExport(f"The export cannot be read: {error.reason}.") from error
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise UnusableExport("This is no export of a ConfigMap registry.") from None
    if found.version != EXPORT_VERSION:
        raise UnusableExport(f"The export has version {found.version}, which this release does not know.")
    format_map_name(found.owner)
    records, intents = ([bytes(raw) for raw in each] for each in (found.records, found.intents))
    if found.digest != _compute_digest(found.owner, found.exported_at, records, intents):
        raise UnusableExport("The export is not as it was written: its digest is another.")
    rows, meant = _read_rows(records), _read_rows(intents)
    for key, entry in group_rows(rows, meant).items():
        problem = _find_problem(found.owner, key, entry)
        if problem:
            raise UnusableExport(f"The row of {key.name} in the export: {problem}")
    return Export(found.owner, found.exported_at, rows, meant, max(0, found.left_out))


def build_restore(
    export: Export, registry: Registry, claimants: Mapping[EndpointKey, str]
) -> dict[EndpointKey, Entry]:
    """The edits that bring an export back, none for what stands already.

    A row of nobody gives way: an instance that began anew has written those. Raises UnfittingExport where a
    row stands that says something else, or where another owner (`claimants`) claims what the export claims.
    """
    edits: dict[EndpointKey, Entry] = {}
    for key, entry in group_rows(export.rows, export.intents).items():
        is_claim = entry.intents or entry.rows[0].owner_id == export.owner_id
        if is_claim and claimants.get(key, export.owner_id) != export.owner_id:
            raise UnfittingExport(f"{describe_key(key)} is claimed by {claimants[key]} here.")
        standing = registry.entries.get(key, NO_ENTRY)
        if not (_give_way(standing.rows, entry.rows) and _give_way(standing.intents, entry.intents)):
            raise UnfittingExport(f"{describe_key(key)} has a row here that says something else.")
        wanted = Entry(entry.rows or standing.rows[:1], entry.intents or standing.intents[:1])
        if wanted != standing:
            edits[key] = wanted
    return edits


def _give_way(standing: tuple[Row, ...], rows: tuple[Row, ...]) -> bool:
    return all(not row.problem and (row.owner_id == "" or row in rows) for row in standing)


def _read_rows(raws: Iterable[bytes]) -> tuple[Row, ...]:
    rows: list[Row] = []
    for raw in raws:
        try:
            row = read_row(raw)
        except WireError as error:
            raise UnusableExport(f"A row of the export cannot be read: {error.reason}.") from error
        if not isinstance(row, Row):
            raise UnusableExport(f"A row of the export cannot be read. {row.reason}")
        if row.problem:
            raise UnusableExport(f"The row of {row.key.name} in the export is not valid: {row.problem}")
        rows.append(row)
    return tuple(rows)


def _list_believed(registry: Registry) -> Iterator[Entry]:
    for key, entry in registry.entries.items():
        rows, intents = (
            tuple(row for row in found if not row.problem) for found in (entry.rows, entry.intents)
        )
        if not _find_problem(registry.owner_id, key, Entry(rows, intents)):
            yield Entry(rows, intents)


def _find_problem(owner_id: str, key: EndpointKey, entry: Entry) -> str:
    if len(entry.rows) > 1 or len(entry.intents) > 1:
        return "it is there twice."
    claim = read_claim(owner_id, key, entry)
    return claim.problem if claim else ""


def _compute_digest(owner_id: str, when: datetime, records: list[bytes], intents: list[bytes]) -> str:
    head = _ENCODER.encode([EXPORT_VERSION, owner_id, when])
    body = b"\n".join([head, b"records", *records, b"intents", *intents])
    return f"sha256:{hashlib.sha256(body).hexdigest()}"
