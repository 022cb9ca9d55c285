"""Deletes old audit entries, but only those that an export and a sealed checkpoint stand for."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction

from registry_app.actor import Actor
from registry_app.audit import compute_checkpoint_seal, record_audit, verify_audit
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import RefusedBySafety, StateMoved
from registry_app.models import AuditCheckpoint, AuditEntry
from registry_app.queries.audit_entry import (
    export_audit,
    fetch_restores,
    find_fault_of_checkpoints,
    verify_export,
)

_BATCH = 1_000
_FILE_CHUNK = 1024 * 1024


@dataclass(frozen=True)
class PurgedAudit:
    """The entries from `first` to `last` are in the file; `deleted` are gone, with what an earlier purge
    left. Nothing was old enough: no file, and zeros."""

    file: str
    first: int
    last: int
    exported: int
    deleted: int


def purge_audit(actor: Actor, path: Path) -> PurgedAudit:
    """Export the entries that are older than the retention to a new file, read it back, store a sealed
    checkpoint with an audit entry, then delete them. A purge that was killed on the way deleted nothing that
    is not in a file; the next one deletes what it left.

    Raises RefusedBySafety (no retention is set, the trail or the file is not valid), OSError, StateMoved.
    """
    _raise_if_not_allowed()
    checkpoint = AuditCheckpoint.objects.first()
    left = _delete_up_to(checkpoint.sequence) if checkpoint else 0
    first, last = (checkpoint.sequence + 1 if checkpoint else 1), _find_last_old()
    if last < first:
        return PurgedAudit("", 0, 0, 0, left)
    _write_export(path, first, last)
    crash_point("audit.exported")
    _raise_if_incomplete(path, first, last)
    _store_checkpoint(actor, path, first, last)
    crash_point("audit.checkpoint_stored")
    return PurgedAudit(str(path), first, last, last - first + 1, left + _delete_up_to(last))


def _raise_if_not_allowed() -> None:
    if not settings.DNSADMIN_RETENTION_AUDIT:
        raise RefusedBySafety(
            "Audit entries are kept for ever.",
            now="Nothing was exported or deleted.",
            todo="Set DNSADMIN_RETENTION_AUDIT_DAYS to how many days they are kept in the database.",
            code="audit_kept",
        )
    fault = verify_audit() or find_fault_of_checkpoints()
    if fault is not None:
        raise RefusedBySafety(
            f"The audit trail is not valid at entry {fault.sequence}: {fault.problem}.",
            now="Nothing was exported or deleted.",
            todo="Find out what happened first; a purge would remove the traces.",
            code="audit_not_valid",
        )


def _find_last_old() -> int:
    """The last entry before the first one that is kept; 0 if there is none. The last of all is kept."""
    # Who changed an account lately is read from the trail.
    kept = max(settings.DNSADMIN_RETENTION_AUDIT, settings.DNSADMIN_ACCOUNT_SETTLES)
    by_sequence = AuditEntry.objects.order_by("sequence").values_list("sequence", flat=True)
    first_kept = by_sequence.filter(at__gte=fetch_now() - kept).first() or by_sequence.last()
    return (first_kept or 1) - 1


def _write_export(path: Path, first: int, last: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in export_audit(first, last))
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _raise_if_incomplete(path: Path, first: int, last: int) -> None:
    with path.open(encoding="ascii") as lines:
        count, fault = verify_export(lines)
    if fault is not None or count != last - first + 1:
        raise RefusedBySafety(
            f"The export {path} does not have the entries {first} to {last}.",
            now="Nothing was deleted.",
            todo="Export to another file or disk.",
            code="export_not_valid",
        )


def _store_checkpoint(actor: Actor, path: Path, first: int, last: int) -> None:
    entry = AuditEntry.objects.get(sequence=last)
    row = AuditCheckpoint(
        sequence=last,
        hash=entry.hash,
        at=entry.at,
        entries=last - first + 1,
        export_digest=_compute_digest(path),
        restores=[list(restore) for restore in fetch_restores(last)],
    )
    row.seal = compute_checkpoint_seal(row)
    values = {"first": first, "last": last, "hash": row.hash, "export_digest": row.export_digest}
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            record_audit(actor, "audit.purged", row, after=values)
    except IntegrityError as error:
        raise StateMoved("Another purge was first.", now="This one deleted nothing.") from error


def _compute_digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_FILE_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _delete_up_to(last: int) -> int:
    deleted = 0
    old = AuditEntry.objects.filter(sequence__lte=last).order_by("sequence").values_list("pk", flat=True)
    while pks := list(old[:_BATCH]):
        AuditEntry.objects.filter(pk__in=pks).delete()
        deleted += len(pks)
    return deleted
