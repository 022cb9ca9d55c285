"""A whole ConfigMap registry as one document, so that it outlives its cluster; and bringing one back."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from providers.registries.configmap.layout import format_map_name
from providers.registries.configmap.registry import (
    Registries,
    Registry,
    find_claimants,
    find_registry,
    read_claim,
)
from providers.registries.configmap.rows import (
    NO_ENTRY,
    Entry,
    describe_key,
    format_rows,
    group_rows,
    parse_rows,
)
from providers.registries.errors import RegistryError
from providers.registries.export import (
    VERSION,
    Document,
    Export,
    UnusableExport,
    decode_document,
    format_digest,
    raise_if_changed,
)
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_shape import raise_if_too_many
from providers.wire.poison import safe_text

_KIND = "configmap-registry"
_ENCODER = msgspec.json.Encoder()


class _Document(Document, frozen=True):
    records: msgspec.Raw
    intents: msgspec.Raw


def export_registry(registry: Registry, *, when: datetime) -> bytes:
    """The document of a registry. A record set of which anything is not valid stays behind, and its rows are
    counted."""
    entries = registry.entries
    valid = [entry for key, entry in entries.items() if not _find_problem(registry.owner_id, key, entry)]
    records = sorted(row.raw for entry in valid for row in entry.rows)
    meant = sorted(intent.raw for entry in valid for intent in entry.intents)
    document = _Document(
        kind=_KIND,
        version=VERSION,
        owner=registry.owner_id,
        exported_at=when,
        left_out=sum(len(entry.all_rows) for entry in entries.values()) - len(records + meant),
        digest=_compute_digest(registry.owner_id, when, records, meant),
        records=msgspec.Raw(format_rows(records).encode()),
        intents=msgspec.Raw(format_rows(meant).encode()),
    )
    return _ENCODER.encode(document) + b"\n"


def parse_export(document: bytes, *, max_items: int) -> Export:
    """The export in a document. Raises UnusableExport, and then nothing of it may be used."""
    found = decode_document(document, _Document, _KIND)
    try:
        rows, intents = (parse_rows(bytes(raw).decode(), max_items) for raw in (found.records, found.intents))
        raise_if_too_many(len(rows) + len(intents), max_items)
    except (WireError, UnicodeError) as error:
        raise UnusableExport(f"The export cannot be read: {error}.") from error
    format_map_name(found.owner)
    raws = ([row.raw for row in rows], [row.raw for row in intents])
    raise_if_changed(found, _compute_digest(found.owner, found.exported_at, *raws))
    for key, entry in group_rows(rows, intents).items():
        problem = _find_problem(found.owner, key, entry)
        if problem:
            raise UnusableExport(f"The row of {safe_text(key.name)} in the export: {problem}")
    return Export(found.owner, found.exported_at, tuple(rows), tuple(intents), max(0, found.left_out))


def build_restore(export: Export, registries: Registries) -> dict[EndpointKey, Entry]:
    """The entries that bring an export back.

    Rows without an owner are replaced: an instance that began anew has written those. Raises RegistryError
    where a row stands that says something else, or where another owner claims what the export claims.
    """
    registry = find_registry(registries, export.owner_id)
    claimants = find_claimants(registries, export.owner_id)
    wanted: dict[EndpointKey, Entry] = {}
    for key, entry in group_rows(export.rows, export.intents).items():
        is_claim = entry.intents or entry.rows[0].owner_id == export.owner_id
        if is_claim and key in claimants:
            raise RegistryError(f"{describe_key(key)} is claimed by {claimants[key]} here.")
        standing = registry.entries.get(key, NO_ENTRY)
        if any(row.problem or (row.owner_id and row not in entry.all_rows) for row in standing.all_rows):
            raise RegistryError(f"{describe_key(key)} has a row here that says something else.")
        wanted[key] = Entry(entry.rows or standing.rows[:1], entry.intents or standing.intents[:1])
    return wanted


def _find_problem(owner_id: str, key: EndpointKey, entry: Entry) -> str:
    """Why an entry cannot be in an export."""
    if len(entry.rows) > 1 or len(entry.intents) > 1:
        return "it is there twice."
    claim = read_claim(owner_id, key, entry)
    return next((row.problem for row in entry.all_rows if row.problem), claim.problem if claim else "")


def _compute_digest(owner_id: str, when: datetime, records: Iterable[bytes], intents: Iterable[bytes]) -> str:
    head = _ENCODER.encode([VERSION, owner_id, when])
    return format_digest(head, b"records", *records, b"intents", *intents)
