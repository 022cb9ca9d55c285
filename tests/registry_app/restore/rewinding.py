"""Put a database back to an earlier state without our command, as a copied file or pg_restore does."""

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from django.db import connection

from tests.services import find_postgresql_programs


def save_database(path: Path) -> None:
    """Keep the database as it is now."""
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(_name())) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
        return
    _run("pg_dump", "--format=custom", f"--file={path}", _name())


def put_back(path: Path) -> None:
    """Put the kept state in the place of the database, under whatever runs."""
    connection.close()
    if connection.vendor == "sqlite":
        for suffix in ("-wal", "-shm"):
            Path(f"{_name()}{suffix}").unlink(missing_ok=True)
        shutil.copyfile(path, _name())
        return
    _run("pg_restore", "--clean", "--if-exists", "--single-transaction", f"--dbname={_name()}", str(path))


def _name() -> str:
    return str(connection.settings_dict["NAME"])


def _run(program: str, *arguments: str) -> None:
    told = connection.settings_dict
    place = [f"--host={told['HOST']}", f"--port={told['PORT']}", f"--username={told['USER']}"]
    command = [str(find_postgresql_programs() / program), *place, *arguments]
    subprocess.run(command, check=True, capture_output=True)
