"""Put a backup in the place of the database. What was open in it ends, and all sending stops."""

import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError, connection

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.errors import RefusedBySafety
from registry_app.models import AuditEntry, Generation, Owner, Provider
from registry_app.outside_copy import EMPTY_HASH, Knowledge, fetch_copies, fetch_knowledge, store_copy
from registry_app.restore.back_up import Manifest, extract_members, list_migrations, read_manifest
from registry_app.restore.database_contents import load_contents
from registry_app.restore.note_restore import note_restore

_TODO_STOP = "Stop web, worker and beat (or `make run`), then restore."


def restore_backup(actor: Actor, path: Path, *, replaces: bool = False) -> tuple[Manifest, Generation]:
    """Restore the file into this database, raise its generation and end what was open in it.

    Raises BackupUnusable, and RefusedBySafety: another kind of database, another schema version, a database
    that is not empty (unless `replaces`), or roles that run.
    """
    manifest = read_manifest(path)
    _raise_if_other_schema(manifest)
    if not replaces:
        _raise_if_not_empty()
    _raise_if_in_use()
    with tempfile.TemporaryDirectory(prefix=".dnsadmin-restore-", dir=settings.DNSADMIN_STATE_DIR) as name:
        folder = Path(name)
        extract_members(path, manifest, folder)
        ahead = _find_known(manifest)
        # Written first: whatever starts after an interrupted restore then recognises it.
        store_copy(Knowledge(ahead.identity, ahead.generation + 1, 0, 0, EMPTY_HASH))
        load_contents(folder)
    generation = note_restore(actor, ahead, how=f"Restored from {path.name}, made at {manifest.made_at}.")
    return manifest, generation or Generation.objects.get(id=1)


def _find_known(manifest: Manifest) -> Knowledge:
    """The latest known state of the database that the backup is of."""
    of_backup = Knowledge(
        manifest.identity,
        manifest.generation,
        manifest.sends,
        manifest.audit_sequence,
        manifest.audit_hash,
    )
    replaced = fetch_knowledge()
    known = [of_backup, *fetch_copies(manifest.identity)]
    if replaced.identity == manifest.identity:
        known.append(replaced)
    return max(known, key=lambda each: each.order)


def _raise_if_other_schema(manifest: Manifest) -> None:
    if manifest.engine != connection.vendor:
        raise RefusedBySafety(
            f"The backup is of {manifest.engine}, and this database is {connection.vendor}.",
            todo="Restore it into a database of the same kind.",
        )
    mine, theirs = _flatten(list_migrations()), _flatten(manifest.migrations)
    if mine == theirs:
        return
    missing, more = sorted(theirs - mine), sorted(mine - theirs)
    if missing:
        happened = f"The backup is of a newer schema: this database lacks {', '.join(missing[:3])}."
        todo = "Install the version that made the backup (or a newer one), migrate, and restore then."
    else:
        happened = f"The backup is of an older schema: it lacks {', '.join(more[:3])}."
        todo = "Restore it with the version that made it into an empty database, then upgrade and migrate."
    raise RefusedBySafety(happened, todo=todo, code="other_schema")


def _flatten(migrations: Mapping[str, Sequence[str]]) -> set[str]:
    return {f"{app}.{name}" for app, names in migrations.items() for name in names}


def _raise_if_not_empty() -> None:
    for model in (Provider, Owner, AuditEntry, User):
        if model._default_manager.exists():
            raise RefusedBySafety(
                f"This database is not empty: it holds {model._meta.verbose_name_plural}.",
                todo="Restore into an empty, migrated database, or add --replace to delete what is here.",
                code="not_empty",
            )


def _raise_if_in_use() -> None:
    """Raise RefusedBySafety while the database shows other connections, or leases."""
    working = Provider.objects.filter(lease_until__gt=fetch_now()).values_list("lease_holder", flat=True)
    if holder := working.first():
        raise RefusedBySafety(f"A worker runs ({holder}).", todo=_TODO_STOP, code="in_use")
    if connection.vendor == "sqlite":
        _raise_if_opened_by_others()
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        others = cursor.fetchone()[0]
    if others:
        raise RefusedBySafety(
            f"{others} other connections to this database are open.", todo=_TODO_STOP, code="in_use"
        )


def _raise_if_opened_by_others() -> None:
    """Raise RefusedBySafety if another process has the file open: then SQLite cannot leave WAL mode."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 500")
            cursor.execute("PRAGMA journal_mode = DELETE")
    except (OperationalError, sqlite3.OperationalError) as error:
        raise RefusedBySafety(
            "Another process has the database open.", todo=_TODO_STOP, code="in_use"
        ) from error
    finally:
        connection.close()  # the next connection sets what ours set
