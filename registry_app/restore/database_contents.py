"""All that a database holds, out to files and back in: SQLite as a whole, PostgreSQL table by table."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction

_SQLITE_FILE = "database.sqlite3"
_CHUNK = 256 * 1024


def save_contents(folder: Path) -> list[str]:
    """Write everything to files in `folder`, all of one moment; their names."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        with closing(sqlite3.connect(folder / _SQLITE_FILE)) as target:
            connection.connection.backup(target)
        return [_SQLITE_FILE]
    with _at_one_moment() as cursor:
        return [_save_table(cursor, table, folder) for table in _list_tables()]


def load_contents(folder: Path) -> None:
    """Replace everything with what `save_contents` wrote: all of it, or nothing."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        with closing(sqlite3.connect(folder / _SQLITE_FILE)) as source:
            source.backup(connection.connection)
        return
    with transaction.atomic(), connection.cursor() as cursor:
        tables = _list_tables()
        quoted = ", ".join(connection.ops.quote_name(table) for table in tables)
        cursor.execute(f"TRUNCATE {quoted}")
        for table in tables:
            _load_table(cursor, table, folder)
        _set_sequences(cursor)


@contextmanager
def _at_one_moment() -> Iterator[Any]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield cursor


def _list_tables() -> list[str]:
    """The tables of all models, of many-to-many fields too. Names come from models, never from outside."""
    models = apps.get_models(include_auto_created=True)
    return sorted(
        {str(model._meta.db_table) for model in models if model._meta.managed and not model._meta.proxy}
    )


def _save_table(cursor: Any, table: str, folder: Path) -> str:
    name = f"{table}.copy"
    columns = _list_columns(cursor, table)
    statement = f"COPY {connection.ops.quote_name(table)} ({columns}) TO STDOUT"
    with (folder / name).open("wb") as file, cursor.copy(statement) as copy:
        file.write(f"{columns}\n".encode())
        for chunk in copy:
            file.write(chunk)
    return name


def _load_table(cursor: Any, table: str, folder: Path) -> None:
    with (folder / f"{table}.copy").open("rb") as file:
        columns = file.readline().decode().rstrip("\n")
        statement = f"COPY {connection.ops.quote_name(table)} ({columns}) FROM STDIN"
        with cursor.copy(statement) as copy:
            for chunk in iter(lambda: file.read(_CHUNK), b""):
                copy.write(chunk)


def _list_columns(cursor: Any, table: str) -> str:
    described = connection.introspection.get_table_description(cursor, table)
    return ", ".join(connection.ops.quote_name(column.name) for column in described)


def _set_sequences(cursor: Any) -> None:
    models = apps.get_models(include_auto_created=True)
    for statement in connection.ops.sequence_reset_sql(no_style(), models):
        cursor.execute(statement)
