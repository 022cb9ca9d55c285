"""Which index finds record sets of several filters. PostgreSQL knows what a column holds and chooses itself.

SQLite does not: of two columns with an index it may take the one that half of the rows have. The kept counts
know how many each has.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from django.db import connections
from django.db.models import Func, Q, QuerySet, Sum
from django.db.models.expressions import Col
from django.db.models.lookups import Exact, In

from registry_app.models import KeptCount, OwnershipState, RecordSet

# Columns that have an index in which names are in order, and those of the counts.
_COUNTED: Mapping[str, str] = MappingProxyType(
    {"provider_id": "provider", "owner_id": "owner", "record_type": "type", "state": "state"}
)


class _NoIndex(Func):
    """A column as it is, which SQLite then looks up by no index."""

    template = "+%(expressions)s"
    arity = 1


def choose_index(rows: QuerySet[RecordSet]) -> QuerySet[RecordSet]:
    """The same rows. Where several columns have given values, SQLite looks up the one with the fewest."""
    if connections[rows.db].vendor != "sqlite":
        return rows
    given = {place: found for place, each in enumerate(rows.query.where.children) if (found := _read(each))}
    if not given or rows.query.where.connector != Q.AND or rows.query.where.negated:
        return rows
    asked = dict(given.values())
    chosen = rows.all()
    if OwnershipState.OWNED not in asked.get("state", (OwnershipState.OWNED,)):
        chosen = rows.exclude(state=OwnershipState.OWNED)  # as the index of these says it
    if len(asked) < 2:
        return chosen
    amounts = _count(asked)
    fewest = min(given, key=lambda place: amounts[given[place][0]])
    conditions: list[Any] = chosen.query.where.children
    for place in given.keys() - {fewest}:
        _, values = given[place]
        conditions[place] = In(_NoIndex(conditions[place].lhs), list(values))
    return chosen


def _read(condition: object) -> tuple[str, Collection[Any]] | None:
    """The column and its values, where a condition gives values of a counted column."""
    if not isinstance(condition, Exact | In) or not isinstance(condition.lhs, Col):
        return None
    column, values = condition.lhs.target.attname, condition.rhs
    if column not in _COUNTED or condition.lhs.target.model is not RecordSet:
        return None
    if hasattr(values, "resolve_expression"):
        return None
    return column, list(values) if isinstance(condition, In) else [values]


def _count(given: Mapping[str, Collection[Any]]) -> dict[str, int]:
    """How many record sets have one of the values of each column."""
    sums = {
        column: Sum("amount", filter=Q(**{f"{_COUNTED[column]}__in": values}))
        for column, values in given.items()
    }
    counted = KeptCount.objects.filter(noun=KeptCount.Noun.RECORD_SET).aggregate(**sums)
    return {column: counted[column] or 0 for column in given}
