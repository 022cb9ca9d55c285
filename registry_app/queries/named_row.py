"""Rows as people and programs name them: by id, or by name."""

from typing import TypeVar

from django.db.models import Model, QuerySet

from registry_app.models import Provider

_Row = TypeVar("_Row", bound=Model)


def find_named_row(rows: QuerySet[_Row], column: str, named: int | str) -> _Row | None:
    """The row with this id, or else with this name in `column`; None where there is none."""
    if (pk := parse_row_id(named)) is not None and (row := rows.filter(pk=pk).first()) is not None:
        return row
    # PostgreSQL refuses a NUL, and no name has one.
    return None if "\0" in str(named) else rows.filter(**{column: str(named)}).first()


def find_named_provider(named: int | str) -> Provider | None:
    """A provider by id or name; None where there is none."""
    return find_named_row(Provider.objects.all(), "name", named)


def parse_row_id(text: int | str) -> int | None:
    """The id of a row; None for what cannot be one."""
    digits = str(text)
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
