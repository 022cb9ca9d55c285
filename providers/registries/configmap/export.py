"""A whole ConfigMap registry as one document, so that it outlives its cluster; and reading one back."""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

import msgspec

from providers.registries.configmap.claims import read_claims
from providers.registries.configmap.names import format_map_name
from providers.registries.configmap.rows import Row, read_row
from providers.registries.errors import RegistryError
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


def export_registry(
    owner_id: str, rows: Iterable[Row], intents: Iterable[Row], *, when: datetime, left_out: int = 0
) -> bytes:
    """The document of a registry. What cannot be believed stays behind and is counted."""
    all_rows, all_intents = list(rows), list(intents)
    believed = [row for row in all_rows if not row.problem]
    meant = [row for row in all_intents if not row.problem]
    doubtful = {claim.key for claim in read_claims(owner_id, believed, meant) if claim.problem}
    kept = [[row.raw for row in found if row.key not in doubtful] for found in (believed, meant)]
    records, intended = (sorted(each) for each in kept)
    left_out += len(all_rows) + len(all_intents) - len(records) - len(intended)
    head = {
        "kind": _KIND,
        "version": EXPORT_VERSION,
        "owner": owner_id,
        "exportedAt": when,
        "leftOut": left_out,
        "digest": _compute_digest(owner_id, when, records, intended),
    }
    return b"".join(
        (
            _ENCODER.encode(head)[:-1],
            b',\n"records":[\n',
            b",\n".join(records),
            b'\n],\n"intents":[\n',
            b",\n".join(intended),
            b"\n]}\n",
        )
    )


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
    export = Export(
        found.owner, found.exported_at, _read_rows(records), _read_rows(intents), max(0, found.left_out)
    )
    _raise_if_doubtful(export)
    return export


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
            raise UnusableExport(f"The row of {row.key.name} in the export cannot be believed: {row.problem}")
        rows.append(row)
    return tuple(rows)


def _raise_if_doubtful(export: Export) -> None:
    for found in (export.rows, export.intents):
        if len({row.key for row in found}) != len(found):
            raise UnusableExport("A record set has two rows in the export.")
    for claim in read_claims(export.owner_id, export.rows, export.intents):
        if claim.problem:
            raise UnusableExport(f"The row of {claim.key.name} in the export: {claim.problem}")


def _compute_digest(owner_id: str, when: datetime, records: list[bytes], intents: list[bytes]) -> str:
    head = _ENCODER.encode([EXPORT_VERSION, owner_id, when])
    body = b"\n".join([head, b"records", *records, b"intents", *intents])
    return f"sha256:{hashlib.sha256(body).hexdigest()}"
