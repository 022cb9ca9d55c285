"""One migrated SQLite database in the state folder. Every process of a run copies it and does not migrate.

It is made again when one of our migrations or `requirements.txt` changed.
"""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def copy_migrated_database(state: Path, place: Path) -> None:
    """Put a migrated database at `place`."""
    state.mkdir(parents=True, exist_ok=True)
    source = state / f"migrated-{_compute_digest()}.sqlite3"
    with (state / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not source.exists():
            for old in state.glob("migrated-*"):
                old.unlink()
            _migrate(source)
        shutil.copyfile(source, place)


def _compute_digest() -> str:
    files = sorted((_ROOT / "registry_app" / "migrations").glob("*.py"))
    contents = (path.read_bytes() for path in (_ROOT / "requirements.txt", *files))
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:16]


def _migrate(place: Path) -> None:
    unfinished = place.with_suffix(".unfinished")
    subprocess.run(
        [sys.executable, str(_ROOT / "manage.py"), "migrate", "--verbosity=0"],
        env={**os.environ, "DATABASE_URL": f"sqlite:///{unfinished}"},
        check=True,
    )
    # All of it in one file: what SQLite keeps beside it until then is not copied.
    with sqlite3.connect(unfinished) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    unfinished.rename(place)
