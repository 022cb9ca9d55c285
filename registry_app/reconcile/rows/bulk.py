"""Rows in bulk, the fast way of each database: executemany on SQLite, COPY on PostgreSQL.

The ORM's bulk_create costs 50 µs a row whatever the batch, five to ten times as much.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.db import connection, models
from django.db.models.functions import Cast
from psycopg import sql

Value = str | int | bytes | datetime | bool | None
Row = tuple[Value, ...]

# Ten times as quick as `json`, and the same text.
_to_json = msgspec.json.Encoder().encode
_from_json = msgspec.json.Decoder().decode


def insert_rows(model: type[models.Model], columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Insert, inside the caller's transaction. A value stands as its column stores it. Raises
    IntegrityError."""
    if not rows:
        return
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if _is_postgres():
            names = sql.SQL(", ").join(map(sql.Identifier, columns))
            statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
            # COPY is the driver's own; Django's cursor hands it through, and its errors as well.
            with connection.wrap_database_errors, cursor.cursor.copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            quote = connection.ops.quote_name
            text = f"INSERT INTO {quote(table)} ({', '.join(map(quote, columns))}) "
            cursor.executemany(f"{text} VALUES ({', '.join(['%s'] * len(columns))})", rows)


def update_rows(model: type[models.Model], columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Update by primary key, which is the last value of each row, inside the caller's transaction."""
    if not rows:
        return
    with connection.cursor() as cursor:
        if _is_postgres():
            cursor.execute(_format_update(model, columns), list(map(list, zip(*rows, strict=True))))
            return
        quote = connection.ops.quote_name
        assignments = ", ".join(f"{quote(column)} = %s" for column in columns)
        table = quote(model._meta.db_table)
        # Only names out of our own models are put into the text.
        text = f"UPDATE {table} SET {assignments} WHERE {quote('id')} = %s"  # noqa: S608
        cursor.executemany(text, rows)


def _format_update(model: type[models.Model], columns: Sequence[str]) -> str:
    """One statement for all rows, with an array for each column: a statement for each row takes twice
    as long."""
    quote = connection.ops.quote_name
    kinds = {field.column: field.rel_db_type(connection) or "" for field in model._meta.concrete_fields}
    # Without their lengths: a text that is too long is refused, not cut.
    arrays = ", ".join(f"%s::{kinds[column].partition('(')[0]}[]" for column in (*columns, "id"))
    assignments = ", ".join(f"{quote(column)} = new.{quote(column)}" for column in columns)
    names = ", ".join(map(quote, (*columns, "id")))
    # Only names and types out of our own models are put into the text.
    return (
        f"UPDATE {quote(model._meta.db_table)} AS old SET {assignments} "  # noqa: S608
        f"FROM unnest({arrays}) AS new ({names}) WHERE old.id = new.id"
    )


def json_text(value: object) -> str:
    """A JSON column's text. PostgreSQL refuses NUL; what is decrypted from a claim may hold one."""
    text = _to_json(value).decode()
    return text.replace("\\u0000", "\\ufffd") if "\\u0000" in text else text


def select_json(column: str) -> Cast:
    """A JSON column as an expression for `values_list`; `read_json` reads what it gives. What Django makes of
    a JSON column takes six times as long."""
    return Cast(column, models.TextField())


def read_json(text: Any) -> Any:
    """The value of a JSON column that was selected with `select_json`."""
    return None if text is None else _from_json(text)


def plain_text(value: str) -> str:
    """A text column's text: no NUL."""
    return value.replace("\x00", "\ufffd") if "\x00" in value else value


def stored_time(at: datetime) -> Value:
    """A moment as the database's driver takes it in a statement of our own."""
    return connection.ops.adapt_datetimefield_value(at)


def rows_per_transaction() -> int:
    """How many rows one transaction may write: on SQLite a web request waits for it to end."""
    return 20_000 if _is_postgres() else 2_000


def _is_postgres() -> bool:
    return connection.vendor == "postgresql"
