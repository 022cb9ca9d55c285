"""Back up the whole database into one file, while dnsadmin runs.

The file is a tar with a manifest and what the database held. Secrets stay encrypted.
"""

import hashlib
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest
from registry_app.outside_copy import fetch_generation, fetch_knowledge
from registry_app.restore.database_contents import save_contents

FORMAT = 1
_MANIFEST = "manifest.json"
_MOST_MANIFEST_BYTES = 4 * 1024 * 1024
_CHUNK = 1024 * 1024


@dataclass(frozen=True)
class Manifest:
    """What a backup is of. `members` are the other members of the file: name, size, SHA-256."""

    format: int
    engine: str
    made_at: str
    migrations: Mapping[str, Sequence[str]]
    identity: str
    generation: int
    sends: int
    audit_sequence: int
    audit_hash: str
    members: Mapping[str, Sequence[Any]]


class BackupUnusable(InvalidRequest):
    """The file is no backup of dnsadmin, or not complete."""

    code = "backup_unusable"


def _write_backup_file(path: Path, manifest: Manifest, folder: Path) -> None:
    """Write the manifest and the members in `folder`; whole or not at all, readable for its owner alone."""
    new = path.with_name(f".{path.name}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
            (folder / _MANIFEST).write_text(json.dumps(asdict(manifest), indent=1), encoding="utf-8")
            for name in (_MANIFEST, *manifest.members):
                tar.add(folder / name, arcname=name)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _describe_member(path: Path) -> tuple[int, str]:
    """Size and SHA-256 of one member."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            digest.update(chunk)
    return path.stat().st_size, digest.hexdigest()


def read_manifest(path: Path) -> Manifest:
    """The manifest alone. Raises BackupUnusable."""
    with _opened(path) as tar:
        return _parse_manifest(tar)


def extract_members(path: Path, manifest: Manifest, folder: Path) -> None:
    """Put the members into `folder` and compare them with the manifest. Raises BackupUnusable."""
    with _opened(path) as tar:
        for name, (size, digest) in manifest.members.items():
            target = folder / Path(name).name
            with target.open("wb") as file:
                _copy(_open_member(tar, name), file, size)
            if _describe_member(target) != (size, digest):
                raise _unusable(f"{name} in it is not as the manifest describes it")


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, mode="r:gz") as tar:
            yield tar
    except (OSError, EOFError, tarfile.TarError) as error:
        raise _unusable(f"it cannot be read ({error})") from error


def _parse_manifest(tar: tarfile.TarFile) -> Manifest:
    try:
        manifest = Manifest(**json.loads(_open_member(tar, _MANIFEST).read(_MOST_MANIFEST_BYTES)))
    except (ValueError, TypeError) as error:
        raise _unusable("its manifest is not one of dnsadmin") from error
    if manifest.format != FORMAT:
        raise _unusable(f"its format is {manifest.format}, and this version reads {FORMAT}")
    return manifest


def _open_member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    try:
        member = tar.extractfile(name)
    except KeyError:
        member = None
    if member is None:
        raise _unusable(f"{name} is not in it")
    return member


def _copy(source: IO[bytes], target: IO[bytes], size: int) -> None:
    left = size
    while left and (chunk := source.read(min(left, _CHUNK))):
        target.write(chunk)
        left -= len(chunk)


def _unusable(problem: str) -> BackupUnusable:
    return BackupUnusable(
        f"The backup cannot be used: {problem}.", todo="Name a file that dnsadmin_backup made."
    )


def back_up(path: Path) -> Manifest:
    """Write the backup and return its manifest. Raises InvalidRequest where the file exists already.

    The knowledge in the manifest is read first, so that it is never ahead of what the file holds.
    """
    if path.exists():
        raise InvalidRequest(f"{path} exists already.", todo="Name a new file.")
    fetch_generation()
    known = fetch_knowledge()
    # Beside the file: the folder for temporary files may be small.
    with tempfile.TemporaryDirectory(prefix=".dnsadmin-backup-", dir=path.resolve().parent) as name:
        folder = Path(name)
        members = {member: _describe_member(folder / member) for member in save_contents(folder)}
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
        _write_backup_file(path, manifest, folder)
    return manifest


def list_migrations() -> dict[str, list[str]]:
    """The migrations that were applied to the database, by app."""
    applied: dict[str, list[str]] = {}
    for app, name in sorted(MigrationLoader(connection).applied_migrations):
        applied.setdefault(app, []).append(name)
    return applied
