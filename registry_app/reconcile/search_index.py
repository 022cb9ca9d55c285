"""The index by which record sets are searched: made after migrations, and kept right.

PostgreSQL keeps its index itself. On SQLite an index of trigrams in the transaction of a first sync would
double its time, so triggers only note which rows it is not right for, together with the text it has of them,
and a task brings it up to date a few seconds later. Until then a search reads the noted rows themselves.
"""

import logging
from typing import Any

from django.db import DatabaseError, connection, transaction

from registry_app.queries.search import INDEX, INDEXED, TRIGGERS, TRIGRAMS, WAITING, has_index

TABLE = "registry_app_recordset"
# On SQLite everybody who writes waits for such a transaction: a tenth of a second.
_ROWS = 2_000
_MOST_AT_ONCE = 100_000
_LOG = logging.getLogger(__name__)


def prepare_search_index() -> None:
    """Make what is missing: the index itself, or triggers that went with a table that was made anew."""
    with connection.cursor() as cursor:
        if TABLE not in connection.introspection.table_names(cursor):
            return
    if connection.vendor == "postgresql":
        _prepare_on_postgresql()
    else:
        _prepare_on_sqlite()


def is_behind() -> bool:
    """Whether there are rows for which the index is not right yet."""
    if connection.vendor != "sqlite" or not has_index():
        return False
    return bool(_fetch_one(f"SELECT EXISTS (SELECT 1 FROM {WAITING})"))  # noqa: S608 - a constant


def count_waiting() -> int:
    """How many rows these are."""
    return int(_fetch_one(f"SELECT count(*) FROM {WAITING}")) if is_behind() else 0  # noqa: S608 - a constant


def index_waiting(most: int = _MOST_AT_ONCE) -> int:
    """Bring the index up to date, at most so many rows, in short transactions; how many there were."""
    done = 0
    while done < most and is_behind():
        with transaction.atomic():
            done += _index_slice()
    return done


def rebuild_search_index() -> None:
    """Make the index anew, from the rows."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"DROP INDEX IF EXISTS {INDEX}")
        else:
            for name in (TRIGRAMS, WAITING):
                cursor.execute(f"DROP TABLE IF EXISTS {name}")
            for name in TRIGGERS:
                cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
    prepare_search_index()


def _prepare_on_postgresql() -> None:
    if has_index():
        return
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except DatabaseError as error:
        _LOG.warning(
            "Searches for a part of a name read every record set, which is slow with many: the extension "
            "pg_trgm is not there and cannot be made (%s). Install it on the database server (Debian: "
            "postgresql-contrib), let a superuser send `CREATE EXTENSION pg_trgm` to this database, and "
            "migrate again.",
            " ".join(str(error).split()),
        )
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX IF EXISTS {INDEX}")  # what a build that was killed left
        cursor.execute(f"CREATE INDEX {INDEX} ON {TABLE} USING gin ({INDEXED} gin_trgm_ops)")


def _prepare_on_sqlite() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        if not has_index():
            try:
                _create_tables(cursor)
            except DatabaseError as error:
                _LOG.warning(
                    "Searches for a part of a name read every record set, which is slow with many: "
                    "this SQLite has no trigram index (%s). Use SQLite 3.34 or later with FTS5, and "
                    "migrate again.",
                    error,
                )
                return
        _create_triggers(cursor)
    index_waiting(most=10**9)


def _create_tables(cursor: Any) -> None:
    cursor.execute(
        f"CREATE VIRTUAL TABLE {TRIGRAMS} USING fts5"
        "(text, content='', columnsize=0, detail=none, tokenize='trigram')"
    )
    cursor.execute(f"CREATE TABLE {WAITING} (id INTEGER PRIMARY KEY, indexed_text TEXT)")
    cursor.execute(f"INSERT INTO {WAITING} (id) SELECT id FROM {TABLE}")  # noqa: S608 - constants


def _create_triggers(cursor: Any) -> None:
    # The first note of a row has the text that is in the index; later ones change nothing of it.
    note = f"INSERT OR IGNORE INTO {WAITING} (id, indexed_text) VALUES"
    changed = "old.targets IS NOT new.targets OR old.resource IS NOT new.resource"
    before = f"{note} (old.id, {_build_text('old')})"
    acts = (
        ("INSERT", "", f"{note} (new.id, NULL)"),
        ("UPDATE", f"WHEN {changed}", before),
        ("DELETE", "", before),
    )
    for name, (event, condition, statement) in zip(TRIGGERS, acts, strict=True):
        cursor.execute(
            f"CREATE TRIGGER IF NOT EXISTS {name} AFTER {event} ON {TABLE} {condition} BEGIN {statement}; END"
        )


def _build_text(row: str) -> str:
    targets = f"(SELECT group_concat(value, char(10)) FROM json_each({row}.targets))"  # noqa: S608 - `row` is one of ours
    return f"{row}.name || char(10) || coalesce({targets}, '') || char(10) || {row}.resource"


def _index_slice() -> int:
    """Bring the index up to date for the first rows that wait. Inside the caller's transaction."""
    first = f"SELECT id FROM {WAITING} ORDER BY id LIMIT {_ROWS}"  # noqa: S608 - constants
    last = _fetch_one(f"SELECT max(id) FROM ({first})")  # noqa: S608 - as above
    if last is None:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {TRIGRAMS} ({TRIGRAMS}, rowid, text) SELECT 'delete', id, indexed_text "  # noqa: S608 - as above
            f"FROM {WAITING} WHERE id <= %s AND indexed_text IS NOT NULL",
            [last],
        )
        cursor.execute(
            f"INSERT INTO {TRIGRAMS} (rowid, text) SELECT r.id, {_build_text('r')} "  # noqa: S608 - as above
            f"FROM {WAITING} w JOIN {TABLE} r ON r.id = w.id WHERE w.id <= %s",
            [last],
        )
        cursor.execute(f"DELETE FROM {WAITING} WHERE id <= %s", [last])  # noqa: S608 - as above
        return int(cursor.rowcount)


def _fetch_one(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]
