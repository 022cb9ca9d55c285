"""Rows in an order that an index has, page after page: each begins after the last row of the one before."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import models

_Row = TypeVar("_Row", bound=models.Model)


@dataclass(frozen=True)
class Keyset:
    """An order whose last column is unique. `columns` are attribute names."""

    columns: tuple[str, ...]
    is_descending: bool = False

    @property
    def ordering(self) -> tuple[str, ...]:
        return tuple(f"-{column}" if self.is_descending else column for column in self.columns)


BY_NAME = Keyset(("name", "id"))
NEWEST_FIRST = Keyset(("id",), is_descending=True)


def slice_after(
    rows: models.QuerySet[Any], keyset: Keyset, position: tuple[Any, ...] | None
) -> models.QuerySet[Any]:
    """The rows after `position`, in order. Written so that an index on the columns serves it."""
    ordered = rows.order_by(*keyset.ordering)
    if position is None:
        return ordered
    *leading, last = keyset.columns
    beyond, from_here = ("lt", "lte") if keyset.is_descending else ("gt", "gte")
    if not leading:
        return ordered.filter(**{f"{last}__{beyond}": position[0]})
    column = leading[0]
    seen = "gte" if keyset.is_descending else "lte"
    # Not `a > x OR (a = x AND id > y)`: the planners read an OR as a reason to leave the index.
    return ordered.filter(**{f"{column}__{from_here}": position[0]}).exclude(
        **{column: position[0], f"{last}__{seen}": position[1]}
    )


def position_of(row: models.Model, keyset: Keyset) -> tuple[Any, ...]:
    """Where a row is in this order."""
    return tuple(getattr(row, column) for column in keyset.columns)


def iterate_slices(rows: models.QuerySet[_Row], keyset: Keyset, size: int) -> Iterator[list[_Row]]:
    """All rows in this order, `size` at a time, in a statement each.

    No transaction is held between them, so that a slow reader keeps no old rows alive in the database: a row
    that changes meanwhile is there once, as it was before or after.
    """
    position = None
    while True:
        found = list(slice_after(rows, keyset, position)[:size])
        if found:
            yield found
        if len(found) < size:
            return
        position = position_of(found[-1], keyset)
