"""How many record sets, claims and findings there are: read from the kept counts, never from all rows."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from django.db import connection, models
from django.db.models import Sum

from registry_app.actor import Actor
from registry_app.models import Claim, Finding, KeptCount, RecordSet
from registry_app.queries.invariant import Violation
from registry_app.queries.readable import readable

# What is counted apart. The columns of each noun stand for those of a kept count, in this order.
VALUES = ("provider_id", "owner_id", "type", "state", "severity")
_SAMPLE = 20


class Counted:
    """A model whose rows are counted, and its columns for VALUES; one without a severity has 0."""

    def __init__(self, noun: KeptCount.Noun, model: type[models.Model], *columns: str):
        self.noun = noun
        self.model = model
        self.columns = columns

    @property
    def sql(self) -> str:
        """A statement for how many rows there are of each combination. Names come from our own models."""
        columns = ", ".join(self.columns)
        severity = ", 0" if len(self.columns) < len(VALUES) else ""
        noun, table = self.noun.value, self.model._meta.db_table
        return f"SELECT '{noun}', {columns}{severity}, COUNT(*) FROM {table} GROUP BY {columns}"  # noqa: S608


COUNTED: Mapping[type[models.Model], Counted] = MappingProxyType(
    {
        each.model: each
        for each in (
            Counted(KeptCount.Noun.RECORD_SET, RecordSet, "provider_id", "owner_id", "record_type", "state"),
            Counted(KeptCount.Noun.CLAIM, Claim, "provider_id", "owner_id", "record_type", "verdict"),
            Counted(KeptCount.Noun.FINDING, Finding, "provider_id", "owner_id", "kind", "state", "severity"),
        )
    }
)


def count_by(
    actor: Actor, noun: KeptCount.Noun, column: str, *more: str, **narrowed: Any
) -> list[tuple[Any, ...]]:
    """How many rows of this noun that the actor may read there are for each combination of these columns,
    which come first, in their order. `narrowed` is a filter of the counts, such as `provider=7`."""
    return _sum(readable(actor, KeptCount.objects.filter(noun=noun, **narrowed)), (column, *more))


def count_all_by(noun: KeptCount.Noun, *columns: str, **narrowed: Any) -> list[tuple[Any, ...]]:
    """The same of all rows, for figures that name none of them."""
    return _sum(KeptCount.objects.filter(noun=noun, **narrowed), columns)


def _sum(rows: "models.QuerySet[KeptCount]", columns: Sequence[str]) -> list[tuple[Any, ...]]:
    summed = rows.order_by(*columns).values_list(*columns).annotate(total=Sum("amount"))
    return [row for row in summed if row[-1]]


def find_wrong_counts() -> Violation | None:
    """I25. Counts that differ from the rows, all of one moment: one statement."""
    listed = ", ".join(("noun", *VALUES))
    kept = f"SELECT {listed}, -amount AS amount FROM {KeptCount._meta.db_table}"  # noqa: S608 - our own names
    parts = [kept, *(each.sql for each in COUNTED.values())]
    statement = (
        f"SELECT {listed}, SUM(amount) FROM ({' UNION ALL '.join(parts)}) AS counted "  # noqa: S608
        f"GROUP BY {listed} HAVING SUM(amount) <> 0"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement)
        wrong = cursor.fetchall()
    if not wrong:
        return None
    shown = sorted(_describe(*row) for row in wrong)[:_SAMPLE]
    return Violation(
        len(wrong),
        tuple(shown),
        "A kept count is not the number of rows. Pages show the count. Run dnsadmin_counts rebuild.",
    )


def _describe(noun: str, provider: int | None, owner: int | None, *values: Any) -> str:
    *shown, off = values
    where = f"provider {provider or 'none'}, owner {owner or 'none'}"
    what = ", ".join(str(value) for value in shown if value not in ("", 0))
    return f"{KeptCount.Noun(noun).label} ({where}, {what}): {int(off):+d}"
