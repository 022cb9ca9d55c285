"""The audit trail as lines of JSON, one for each entry and a closing one; and whether such lines hold."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError

from registry_app.audit import AuditFault, compute_entry_hash
from registry_app.models import AuditEntry

_CHUNK = 2_000
_COLUMNS = (
    "sequence",
    "at",
    "actor_kind",
    "actor_name",
    "action",
    "object_type",
    "object_id",
    "object_label",
    "reason",
    "before",
    "after",
    "request_id",
    "previous_hash",
    "hash",
)


def export_audit(first: int = 1, last: int | None = None) -> Iterator[str]:
    """The entries from `first` to `last` (nothing: to the end), then a line that closes them: without it, or
    with another count, lines are missing."""
    entries = AuditEntry.objects.filter(sequence__gte=first).order_by("sequence")
    if last is not None:
        entries = entries.filter(sequence__lte=last)
    count, begun, ended, ended_hash = 0, 0, 0, ""
    for entry in entries.iterator(chunk_size=_CHUNK):
        count, begun = count + 1, begun or entry.sequence
        ended, ended_hash = entry.sequence, entry.hash
        values = {name: getattr(entry, name) for name in _COLUMNS}
        yield json.dumps({**values, "at": entry.at.isoformat(timespec="microseconds")}, ensure_ascii=True)
    closing = {"closing": True, "entries": count, "first": begun, "last": ended, "hash": ended_hash}
    yield json.dumps({**closing, "seal": _seal(closing)})


def verify_export(lines: Iterable[str]) -> tuple[int, AuditFault | None]:
    """How many entries there are, and the first thing that does not hold, if anything."""
    count, begun, ended, ended_hash = 0, 0, 0, ""
    closing: dict[str, Any] | None = None
    for line in lines:
        values = _parse(line)
        if closing is not None or values is None:
            return count, AuditFault(ended + 1, "a line is not one of an export, or comes after its end")
        if values.get("closing"):
            closing = values
            continue
        entry = _build_entry(values)
        if entry is None:
            return count, AuditFault(ended + 1, "an entry cannot be read")
        if count and (entry.sequence != ended + 1 or entry.previous_hash != ended_hash):
            return count, AuditFault(ended + 1, "an entry is missing, or the one before it was changed")
        if not hmac.compare_digest(entry.hash, compute_entry_hash(entry)):
            return count, AuditFault(entry.sequence, "the entry was changed, or the audit key is another one")
        count, begun = count + 1, begun or entry.sequence
        ended, ended_hash = entry.sequence, entry.hash
    expected = {"closing": True, "entries": count, "first": begun, "last": ended, "hash": ended_hash}
    if closing is None or {**expected, "seal": _seal(expected)} != closing:
        return count, AuditFault(ended + 1, "the closing line is missing or does not fit: lines were cut off")
    return count, None


def _parse(line: str) -> dict[str, Any] | None:
    try:
        values = json.loads(line)
    except ValueError:
        return None
    return values if isinstance(values, dict) else None


def _build_entry(values: dict[str, Any]) -> AuditEntry | None:
    try:
        entry = AuditEntry(**{name: values[name] for name in _COLUMNS})
        entry.clean_fields(exclude=["id", "before", "after"])
    except (KeyError, ValueError, TypeError, ValidationError):
        return None
    return entry


def _seal(closing: dict[str, Any]) -> str:
    text = "audit export\n" + json.dumps(closing, sort_keys=True)
    return hmac.new(settings.DNSADMIN_AUDIT_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()
