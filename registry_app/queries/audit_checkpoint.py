"""Checkpoints of the audit trail in a file outside the database, one line each, and whether they hold."""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from django.conf import settings

from registry_app.audit import AuditFault
from registry_app.models import AuditEntry
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
    """The first checkpoint, or copy outside the database, that the trail does not hold any more.

    What a restore cut is excused: its own entry, which is in the chain, says what that was.
    """
    identity = str(fetch_generation().identity)
    restores = _fetch_restores()
    path = path or default_checkpoint_file()
    lines = _read_lines(path) if path.exists() else iter(())
    for known in chain(_parse(lines, identity), fetch_copies(identity)):
        if not known.sequence or _is_cut_by_restore(known, restores):
            continue
        stored = AuditEntry.objects.filter(sequence=known.sequence).values_list("hash", flat=True).first()
        if stored is None:
            return AuditFault(known.sequence, "a checkpoint has this entry, and it is missing now")
        if stored != known.hash:
            return AuditFault(known.sequence, "a checkpoint has another entry in this place")
    return None


def _read_lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        yield from file


def _parse(lines: Iterator[str], identity: str) -> Iterator[Knowledge]:
    """Checkpoints of this database whose seal holds: lines that somebody else wrote prove nothing."""
    for line in lines:
        known = parse_copy(line)
        if known is not None and known.identity == identity:
            yield known


def _fetch_restores() -> list[tuple[int, int]]:
    """Of each restore its generation, and the first entry after it."""
    entries = AuditEntry.objects.filter(action=RESTORED).values_list("after__generation", "sequence")
    return [(int(generation), sequence) for generation, sequence in entries]


def _is_cut_by_restore(known: Knowledge, restores: list[tuple[int, int]]) -> bool:
    return any(known.generation < generation and known.sequence >= first for generation, first in restores)
