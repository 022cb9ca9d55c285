"""The least that a sync could cost: the same bytes downloaded and decoded, the same rows inserted."""

import sqlite3
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import requests

from bench.bodies import MEDIA_TYPE
from providers.wire.endpoint import Endpoint

TABLES = ("registry_app_recordset", "registry_app_claim")
_PIECE = 1 << 20


def measure_download(url: str, result: Connection) -> None:
    """Sends seconds: a streamed download, and the same with a typed decode after it (D)."""
    started = time.perf_counter()
    body = _download(url)
    downloaded = time.perf_counter() - started
    msgspec.json.decode(body, type=tuple[Endpoint, ...])
    result.send((downloaded, time.perf_counter() - started))


def _download(url: str) -> bytearray:
    body = bytearray()
    with requests.get(f"{url}/records", headers={"Accept": MEDIA_TYPE}, stream=True, timeout=600) as answer:
        while piece := answer.raw.read(_PIECE):
            body += piece
    return body


def measure_decode(body: Path) -> float:
    """Seconds for a bare typed decode of a file."""
    data = body.read_bytes()
    started = time.perf_counter()
    msgspec.json.decode(data, type=tuple[Endpoint, ...])
    return time.perf_counter() - started


def measure_insert(folder: Path, result: Connection) -> None:
    """Sends seconds: the rows of the mirror, as they are now, inserted into empty tables with the same
    columns and indexes: executemany on SQLite, COPY on PostgreSQL, one transaction."""
    import django

    django.setup()
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            result.send(sum(_copy_rows(cursor, table) for table in TABLES))
        else:
            result.send(_insert_rows(cursor, folder / "floor.sqlite3"))


def _insert_rows(cursor: Any, path: Path) -> float:
    path.unlink(missing_ok=True)
    seconds = 0.0
    with sqlite3.connect(path) as target:
        target.execute("PRAGMA journal_mode=WAL")
        for table in TABLES:
            cursor.execute(
                "SELECT sql FROM sqlite_master WHERE tbl_name = %s AND sql IS NOT NULL AND type <> 'trigger'",
                [table],
            )
            for (statement,) in cursor.fetchall():
                target.execute(statement)
            cursor.execute(f"SELECT * FROM {table}")
            rows = cursor.fetchall()
            started = time.perf_counter()
            places = ", ".join("?" * len(rows[0]))
            target.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
            target.commit()
            seconds += time.perf_counter() - started
    target.close()
    return seconds


def _copy_rows(cursor: Any, table: str) -> float:
    # In binary form and back: nothing is converted on the way.
    with cursor.cursor.copy(f"COPY {table} TO STDOUT (FORMAT BINARY)") as copy:
        pieces = list(copy)
    cursor.execute(f"CREATE TABLE floor_{table} (LIKE {table} INCLUDING ALL)")
    started = time.perf_counter()
    with cursor.cursor.copy(f"COPY floor_{table} FROM STDIN (FORMAT BINARY)") as copy:
        for piece in pieces:
            copy.write(piece)
    seconds = time.perf_counter() - started
    cursor.execute(f"DROP TABLE floor_{table}")
    return seconds
