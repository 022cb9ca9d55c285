"""The least a sync could cost: decode the same bytes into typed values, and hand the same number of rows
to the database without an index, a check or a thought."""

import sqlite3
import time
from pathlib import Path

import msgspec

from providers.wire.endpoint import Endpoint

_COLUMNS = 12


def measure_decode(body: Path) -> float:
    """Seconds for a bare typed decode of a body."""
    data = body.read_bytes()
    started = time.perf_counter()
    msgspec.json.decode(data, type=tuple[Endpoint, ...])
    return time.perf_counter() - started


def measure_insert(folder: Path, count: int) -> float:
    """Seconds for `count` bare rows into an empty SQLite table, one transaction, one statement."""
    columns = ", ".join(f"c{number}" for number in range(_COLUMNS))
    row = tuple(f"value-{number:012}" for number in range(_COLUMNS))
    with sqlite3.connect(folder / "floor.sqlite3") as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"CREATE TABLE floor ({columns})")
        started = time.perf_counter()
        places = ", ".join("?" * _COLUMNS)
        connection.executemany(f"INSERT INTO floor VALUES ({places})", (row for _ in range(count)))
        connection.commit()
        seconds = time.perf_counter() - started
    connection.close()
    return seconds
