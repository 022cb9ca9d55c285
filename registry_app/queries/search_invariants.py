"""I26: the index of searches has what the rows have, as far as a sample shows it."""

from django.db import connection

from registry_app.models import RecordSet
from registry_app.queries.invariant import SAMPLE, Invariant, Violation, name_row
from registry_app.queries.search import (
    INDEX,
    TRIGGERS,
    TRIGRAMS,
    WAITING,
    build_match,
    has_index,
    list_trigrams,
)

_LOOKED_AT = 1_000
_TODO = "Make the index anew with `dnsadmin_search rebuild`."


def find_incomplete_index() -> Violation | None:
    """Without an index at all nothing is missing: every row is read."""
    if connection.vendor == "postgresql":
        return _find_broken_index()
    if not has_index():
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        there = {name for (name,) in cursor.fetchall()}
    if missing := [name for name in TRIGGERS if name not in there]:
        return Violation(len(missing), tuple(missing), f"Changes are not noted for the index. {_TODO}")
    lost = [row for row in _choose_rows() if not _is_indexed(row)]
    if not lost:
        return None
    names = tuple(name_row(row) for row in lost[:SAMPLE])
    return Violation(len(lost), names, f"A record set is not in the index. {_TODO}")


def _find_broken_index() -> Violation | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [INDEX])
        row = cursor.fetchone()
    if row is None or row[0]:
        return None
    return Violation(1, (f"index {INDEX}",), f"The index was not made to its end. {_TODO}")


def _choose_rows() -> list[RecordSet]:
    """Some, from the oldest to the newest."""
    newest = RecordSet.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    spread = {newest * number // _LOOKED_AT for number in range(1, _LOOKED_AT + 1)}
    return list(RecordSet.objects.filter(pk__among=spread).only("pk", "name"))


def _is_indexed(row: RecordSet) -> bool:
    trigrams = list_trigrams(row.name)
    if not trigrams:
        return True
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT 1 FROM {TRIGRAMS} WHERE {TRIGRAMS} MATCH %s AND rowid = %s "  # noqa: S608 - constants
            f"UNION ALL SELECT 1 FROM {WAITING} WHERE id = %s",
            [build_match(trigrams[:3]), row.pk, row.pk],
        )
        return cursor.fetchone() is not None


SEARCH_INVARIANTS = (Invariant("I26", "searches find every record set", find_incomplete_index),)
