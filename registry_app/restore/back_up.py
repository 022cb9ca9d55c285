"""Back up the whole database into one file, while dnsadmin runs."""

import tempfile
from pathlib import Path

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest
from registry_app.outside_copy import fetch_generation, fetch_knowledge
from registry_app.restore.backup_file import FORMAT, Manifest, describe_member, write_backup_file
from registry_app.restore.database_contents import save_contents


def back_up(path: Path) -> Manifest:
    """Write the backup; what it is of. Raises InvalidRequest where the file exists already.

    The knowledge in the manifest is read first, so that it is never ahead of what the file holds.
    """
    if path.exists():
        raise InvalidRequest(f"{path} exists already.", todo="Name a new file.")
    fetch_generation()
    known = fetch_knowledge()
    # Beside the file: the folder for temporary files may be small.
    with tempfile.TemporaryDirectory(prefix=".dnsadmin-backup-", dir=path.resolve().parent) as name:
        folder = Path(name)
        members = {member: describe_member(folder / member) for member in save_contents(folder)}
        manifest = Manifest(
            format=FORMAT,
            engine=connection.vendor,
            made_at=fetch_now().isoformat(timespec="seconds"),
            migrations=list_migrations(),
            identity=known.identity,
            generation=known.generation,
            sends=known.sends,
            audit_sequence=known.sequence,
            audit_hash=known.hash,
            members=members,
        )
        write_backup_file(path, manifest, folder)
    return manifest


def list_migrations() -> dict[str, list[str]]:
    """The migrations that were applied to the database, by app."""
    applied: dict[str, list[str]] = {}
    for app, name in sorted(MigrationLoader(connection).applied_migrations):
        applied.setdefault(app, []).append(name)
    return applied
