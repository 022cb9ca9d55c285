"""The audit trail outside the database: checkpoints, and exports as lines of JSON."""

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Q

from registry_app.audit import AuditFault, compute_entry_hash
from registry_app.models import AuditCheckpoint, AuditEntry
from registry_app.outside_copy import (
    Knowledge,
    fetch_copies,
    fetch_generation,
    fetch_knowledge,
    format_copy,
    parse_copy,
    store_copy,
)

RESTORED = "database.restored"
_CHUNK = 2_000
# What an export and the API show of an entry.
COLUMNS = (
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


def build_object_query(text: str) -> Q:
    """`provider 3` or `provider:3` is one object, `provider` all of its kind."""
    kind, _space, object_id = text.replace(":", " ").partition(" ")
    query = Q(object_type=kind.lower())
    return query & Q(object_id=object_id.strip()) if object_id.strip() else query


def default_checkpoint_file() -> Path:
    """Where checkpoints go unless a command says otherwise."""
    return Path(settings.DNSADMIN_STATE_DIR) / "audit-checkpoints.ndjson"


def store_checkpoint(path: Path | None = None) -> Knowledge:
    """Append the end of the trail to the file, and move the copies outside the database on. Nothing is
    appended where the last line says the same. Raises OSError."""
    known = fetch_knowledge()
    store_copy(known)
    path = path or default_checkpoint_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists() and (last := list(_read_lines(path))[-1:]) and parse_copy(last[0]) == known:
        return known
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as file:
        file.write(format_copy(known) + "\n")
    return known


def find_fault_of_checkpoints(path: Path | None = None) -> AuditFault | None:
    """The first checkpoint, or copy outside the database, whose entry is missing or changed in the trail.

    Entries that a restore removed do not count: the restore's own entry, which is in the chain, names them.
    Neither do those that were exported and deleted, up to the checkpoint of that purge.
    """
    identity = str(fetch_generation().identity)
    purged = AuditCheckpoint.objects.first()
    restores = fetch_restores(fetch_knowledge().sequence)
    path = path or default_checkpoint_file()
    # Lines with a wrong seal, or of another database, prove nothing.
    lines = _read_lines(path) if path.exists() else iter(())
    checkpoints = (known for line in lines if (known := parse_copy(line)) and known.identity == identity)
    for known in chain(checkpoints, fetch_copies(identity)):
        if not known.sequence or _is_cut_by_restore(known, restores):
            continue
        if purged is not None and known.sequence < purged.sequence:
            continue
        stored = AuditEntry.objects.filter(sequence=known.sequence).values_list("hash", flat=True).first()
        if purged is not None and known.sequence == purged.sequence:
            stored = purged.hash
        if stored is None:
            return AuditFault(known.sequence, "a checkpoint has this entry, and it is missing now")
        if stored != known.hash:
            return AuditFault(known.sequence, "a checkpoint has another entry in this place")
    return None


def _read_lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        yield from file


def fetch_restores(last: int) -> list[tuple[int, int]]:
    """Of each restore up to that entry its generation, and the first entry after it."""
    checkpoint = AuditCheckpoint.objects.first()
    earlier = [(number, sequence) for number, sequence in checkpoint.restores] if checkpoint else []
    entries = AuditEntry.objects.filter(action=RESTORED, sequence__lte=last)
    if checkpoint is not None:
        entries = entries.filter(sequence__gt=checkpoint.sequence)
    found = entries.order_by("sequence").values_list("after__generation", "sequence")
    return earlier + [(int(number), sequence) for number, sequence in found]


def _is_cut_by_restore(known: Knowledge, restores: list[tuple[int, int]]) -> bool:
    return any(known.generation < generation and known.sequence >= first for generation, first in restores)


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
        values = {name: getattr(entry, name) for name in COLUMNS}
        yield json.dumps({**values, "at": entry.at.isoformat(timespec="microseconds")}, ensure_ascii=True)
    closing = {"closing": True, "entries": count, "first": begun, "last": ended, "hash": ended_hash}
    yield json.dumps({**closing, "seal": _seal(closing)})


def verify_export(lines: Iterable[str]) -> tuple[int, AuditFault | None]:
    """How many entries there are, and the first fault, if any."""
    count, begun, ended, ended_hash = 0, 0, 0, ""
    closing: dict[str, Any] | None = None
    for line in lines:
        values = _parse_line(line)
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


def _parse_line(line: str) -> dict[str, Any] | None:
    try:
        values = json.loads(line)
    except ValueError:
        return None
    return values if isinstance(values, dict) else None


def _build_entry(values: dict[str, Any]) -> AuditEntry | None:
    try:
        entry = AuditEntry(**{name: values[name] for name in COLUMNS})
        entry.clean_fields(exclude=["id", "before", "after"])
    except (KeyError, ValueError, TypeError, ValidationError):
        return None
    return entry


def _seal(closing: dict[str, Any]) -> str:
    text = "audit export\n" + json.dumps(closing, sort_keys=True)
    return hmac.new(settings.DNSADMIN_AUDIT_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()
