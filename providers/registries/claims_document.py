"""Claims as one document, so that they outlive the database that they were kept in; and reading it back.

A document is of one owner, or of all (`owner` is empty). Each claim is its record set and its heritage text.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from providers.registries.configmap.rows import Row
from providers.registries.export import (
    VERSION,
    Document,
    Export,
    UnusableExport,
    decode_document,
    format_digest,
    raise_if_changed,
)
from providers.registries.labels import OWNER, describe_unreadable_owner, parse_labels
from providers.registries.stored_claim import StoredClaim
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import EndpointKey
from providers.wire.poison import safe_text

_KIND = "database-registry"
_ENCODER = msgspec.json.Encoder()
_Row = tuple[str, str, str, str]


class _Document(Document, frozen=True):
    claims: list[_Row]  # name, type, set identifier, heritage text


def format_claims_document(claims: Iterable[StoredClaim], *, owner_id: str, when: datetime) -> bytes:
    """The document of these claims. What is no claim yet stays behind, and is counted."""
    found = list(claims)
    rows = sorted((*claim.key, claim.text) for claim in found if claim.is_settled)
    document = _Document(
        kind=_KIND,
        version=VERSION,
        owner=owner_id,
        exported_at=when,
        left_out=len(found) - len(rows),
        digest=_compute_digest(owner_id, when, rows),
        claims=rows,
    )
    return _ENCODER.encode(document) + b"\n"


def parse_claims_document(document: bytes, *, max_items: int) -> Export:
    """The claims in a document. Raises UnusableExport, and then nothing of it may be used."""
    found = decode_document(document, _Document, _KIND)
    if len(found.claims) > max_items:
        raise UnusableExport(f"The export has more than {max_items} claims.")
    raise_if_changed(found, _compute_digest(found.owner, found.exported_at, found.claims))
    rows = tuple(_read_row(row, found.owner) for row in found.claims)
    if len({row.key for row in rows}) < len(rows):
        raise UnusableExport("The export has two claims for one record set.")
    return Export(found.owner, found.exported_at, rows, (), max(0, found.left_out))


def _read_row(row: _Row, owner_id: str) -> Row:
    name, record_type, set_identifier, text = row
    labels = parse_labels(text) or {}
    try:
        is_canonical = canonical_name(name) == name and record_type == record_type.upper() != ""
    except InvalidName:
        is_canonical = False
    problem = "" if is_canonical else "Its name or type cannot be used."
    problem = problem or describe_unreadable_owner(labels)
    if not problem and owner_id not in ("", labels[OWNER]):
        problem = "It is another owner's."
    if problem:
        raise UnusableExport(f"The claim for {safe_text(name)} in the export: {problem}")
    return Row(EndpointKey(name, record_type, set_identifier), labels[OWNER], (), labels, text.encode())


def _compute_digest(owner_id: str, when: datetime, rows: Iterable[_Row]) -> str:
    return format_digest(_ENCODER.encode([VERSION, owner_id, when, list(rows)]))
