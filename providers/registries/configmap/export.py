"""A whole ConfigMap registry as one document, so that it outlives its cluster; and bringing one back."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

import msgspec

from providers.registries.configmap.claims import read_claim
from providers.registries.configmap.layout import format_map_name
from providers.registries.configmap.registry import Registry
from providers.registries.configmap.rows import (
    NO_ENTRY,
    Entry,
    Row,
    describe_key,
    format_rows,
    group_rows,
    parse_rows,
)
from providers.registries.errors import RegistryError
from providers.wire.endpoint import EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_shape import raise_if_too_many
from providers.wire.poison import safe_text

MAX_EXPORT_BYTES = 256 * 1024 * 1024
_VERSION = 1
_ENCODER = msgspec.json.Encoder()


class UnusableExport(RegistryError):
    """A document that is no export of a registry, or not a whole one; nothing of it was used."""


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
        kind="configmap-registry",
        version=_VERSION,
        owner=registry.owner_id,
        exported_at=when,
        left_out=sum(map(len, entries.values())) - len(records) - len(meant),
        digest=_compute_digest(registry.owner_id, when, records, meant),
        records=msgspec.Raw(format_rows(records).encode()),
        intents=msgspec.Raw(format_rows(meant).encode()),
    )
    return _ENCODER.encode(document) + b"\n"


def parse_export(document: bytes, *, max_items: int) -> Export:
    """The export in a document. Raises UnusableExport, and then nothing of it may be used."""
    if len(document) > MAX_EXPORT_BYTES:
        raise UnusableExport(f"The export is larger than {MAX_EXPORT_BYTES} bytes.")
    try:
        found = msgspec.json.decode(document, type=_Document)
        rows, intents = (parse_rows(bytes(raw).decode(), max_items) for raw in (found.records, found.intents))
        raise_if_too_many(len(rows) + len(intents), max_items)
    except WireError as error:
        raise UnusableExport(f"The export cannot be read: {error.reason}.") from error
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise UnusableExport("This is no export of a ConfigMap registry.") from None
    if found.version != _VERSION:
        raise UnusableExport(f"The export has version {found.version}, which this release does not know.")
    format_map_name(found.owner)
    raws = ([row.raw for row in rows], [row.raw for row in intents])
    if found.digest != _compute_digest(found.owner, found.exported_at, *raws):
        raise UnusableExport("The export is not as it was written: its digest is another.")
    for key, entry in group_rows(rows, intents).items():
        problem = _find_problem(found.owner, key, entry)
        if problem:
            raise UnusableExport(f"The row of {safe_text(key.name)} in the export: {problem}")
    return Export(found.owner, found.exported_at, tuple(rows), tuple(intents), max(0, found.left_out))


def build_restore(
    export: Export, registry: Registry, claimants: Mapping[EndpointKey, str]
) -> dict[EndpointKey, Entry]:
    """The entries that bring an export back.

    Rows without an owner are replaced: an instance that began anew has written those. Raises RegistryError
    where a row stands that says something else, or where another owner (`claimants`) claims what the export
    claims.
    """
    wanted: dict[EndpointKey, Entry] = {}
    for key, entry in group_rows(export.rows, export.intents).items():
        is_claim = entry.intents or entry.rows[0].owner_id == export.owner_id
        if is_claim and claimants.get(key, export.owner_id) != export.owner_id:
            raise RegistryError(f"{describe_key(key)} is claimed by {claimants[key]} here.")
        standing = registry.entries.get(key, NO_ENTRY)
        if not (_may_replace(standing.rows, entry.rows) and _may_replace(standing.intents, entry.intents)):
            raise RegistryError(f"{describe_key(key)} has a row here that says something else.")
        wanted[key] = Entry(entry.rows or standing.rows[:1], entry.intents or standing.intents[:1])
    return wanted


def _may_replace(standing: tuple[Row, ...], rows: tuple[Row, ...]) -> bool:
    return all(not row.problem and (row.owner_id == "" or row in rows) for row in standing)


def _find_problem(owner_id: str, key: EndpointKey, entry: Entry) -> str:
    """Why an entry cannot be in an export."""
    if len(entry.rows) > 1 or len(entry.intents) > 1:
        return "it is there twice."
    claim = read_claim(owner_id, key, entry)
    problems = [row.problem for row in (*entry.rows, *entry.intents)]
    return next(filter(None, problems), claim.problem if claim else "")


def _compute_digest(owner_id: str, when: datetime, records: Iterable[bytes], intents: Iterable[bytes]) -> str:
    head = _ENCODER.encode([_VERSION, owner_id, when])
    body = b"\n".join([head, b"records", *records, b"intents", *intents])
    return f"sha256:{hashlib.sha256(body).hexdigest()}"
