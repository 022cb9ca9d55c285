"""The least that answers a page of the list of record sets: one statement and msgspec in a WSGI application.

It knows neither tokens nor filters, and is one function: every thread has a connection.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any

import django
import msgspec

from bench.export import COLUMNS, TABLES, build_row

django.setup()

_LIMIT = 100
_KEPT = threading.local()
_ENCODER = msgspec.json.Encoder()
_STATEMENT = f"SELECT {COLUMNS} FROM {TABLES} ORDER BY r.name, r.id LIMIT {_LIMIT + 1}"


def application(_environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with the first page, whatever is asked for."""
    cursor = _find_connection().cursor()
    cursor.execute(_STATEMENT)
    rows = cursor.fetchall()
    items = [build_row(row) for row in rows[:_LIMIT]]
    last = rows[_LIMIT - 1] if len(rows) > _LIMIT else None
    body = _ENCODER.encode({"items": items, "next": None, "next_cursor": last and last[3]})
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


def _find_connection() -> Any:
    if not hasattr(_KEPT, "connection"):
        from django.db import connection

        connection.ensure_connection()
        _KEPT.connection = connection.connection
    return _KEPT.connection
