"""Bulk inserts on PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql


def insert_rows(
    connection: BaseDatabaseWrapper,
    table: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str | int | bytes | datetime | bool | None, ...]],
) -> None:
    """COPY in text form: the server parses each value by its column's type."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    # COPY is the driver's own; Django's cursor hands it through.
    with connection.cursor() as cursor, cursor.cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
