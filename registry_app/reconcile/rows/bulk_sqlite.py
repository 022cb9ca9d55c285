"""Bulk inserts on SQLite."""

from collections.abc import Sequence
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper


def insert_rows(
    connection: BaseDatabaseWrapper,
    table: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str | int | bytes | datetime | bool | None, ...]],
) -> None:
    """One prepared statement for all rows."""
    quote = connection.ops.quote_name
    names = ", ".join(map(quote, columns))
    places = ", ".join(["%s"] * len(columns))
    sql = f"INSERT INTO {quote(table)} ({names}) VALUES ({places})"  # noqa: S608 - names of our own models
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)
