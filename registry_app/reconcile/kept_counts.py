"""Counts of record sets, claims and findings, kept in the transaction that changes the rows.

Whatever inserts, changes or deletes such rows says so here. The difference is stored once, at the end of the
transaction of a sync, and in one order everywhere: of two transactions that change the same counts one waits.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from operator import itemgetter
from typing import Any

from django.db import connection, models, transaction

from registry_app.models import KeptCount
from registry_app.queries.kept_count import COUNTED, VALUES

_Changes = Counter[tuple[Any, ...]]
_current: ContextVar[_Changes | None] = ContextVar("kept_counts", default=None)
_COLUMNS = ", ".join(("noun", *VALUES, "amount"))
_PLACES = ", ".join(["%s"] * (len(VALUES) + 2))
_TABLE = KeptCount._meta.db_table
# The expressions are those of the constraint.
_ADD = (
    f"INSERT INTO {_TABLE} ({_COLUMNS}) VALUES ({_PLACES}) "  # noqa: S608 - names out of our own model
    "ON CONFLICT (noun, COALESCE(provider_id, 0), COALESCE(owner_id, 0), type, state, severity) "
    f"DO UPDATE SET amount = {_TABLE}.amount + excluded.amount"
)


@contextmanager
def keeping_counts() -> Iterator[None]:
    """Inside a transaction: what is noted within is stored at the end. Within another, that one stores."""
    if _current.get() is not None:
        yield
        return
    changes: _Changes = Counter()
    token = _current.set(changes)
    try:
        yield
    finally:
        _current.reset(token)
    _store(changes)


def note_inserted(model: type[models.Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """These rows were inserted with these columns."""
    if rows:
        pick = itemgetter(*(columns.index(column) for column in COUNTED[model].columns))
        _note(model, Counter(map(pick, rows)))


@contextmanager
def noting_changes(rows: models.QuerySet[Any]) -> Iterator[None]:
    """What happens to `rows`, which are named by key: changed or deleted. Nobody else changes them
    meanwhile."""
    with keeping_counts():
        before = _read(rows.select_for_update())
        yield
        after = _read(rows)
        after.subtract(before)
        _note(rows.model, after)


def rebuild_counts() -> int:
    """Count all rows anew. What writes rows meanwhile waits. Returns how many counts there are."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Who changed counts before has committed, and is counted; who comes later adds its difference.
            cursor.execute(f"LOCK TABLE {_TABLE} IN SHARE ROW EXCLUSIVE MODE")
        KeptCount.objects.all().delete()
        for counted in COUNTED.values():
            cursor.execute(f"INSERT INTO {_TABLE} ({_COLUMNS}) {counted.sql}")
        return KeptCount.objects.count()


def _read(rows: models.QuerySet[Any]) -> _Changes:
    return Counter(rows.order_by("pk").values_list(*COUNTED[rows.model].columns))


def _note(model: type[models.Model], changes: _Changes) -> None:
    noun = COUNTED[model].noun.value
    with keeping_counts():
        noted = _current.get()
        assert noted is not None
        for values, number in changes.items():
            if number:
                severity = (0,) if len(values) < len(VALUES) else ()
                noted[(noun, *values, *severity)] += number


def _store(changes: _Changes) -> None:
    rows = [(*values, number) for values, number in changes.items() if number]
    if rows:
        rows.sort(key=lambda row: (row[0], row[1] or 0, row[2] or 0, row[3:]))
        with connection.cursor() as cursor:
            cursor.executemany(_ADD, rows)
