"""Rows found by id or name, or by the beginning or end of their name."""

from typing import TypeVar

from django.db.models import Model, Q, QuerySet

from providers.wire.canonical_name import InvalidName, canonical_name, reversed_name
from registry_app.models import Provider

_Row = TypeVar("_Row", bound=Model)
_LAST = "\U0010ffff"
_AFTER_THE_DOT = chr(ord(".") + 1)


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


def build_prefix_query(column: str, text: str) -> Q:
    """Rows whose `column`, one in byte order, begins with `text`."""
    return Q(**{f"{column}__gte": text, f"{column}__lt": text + _LAST})


def build_suffix_query(name: str, *, column: str = "name_reversed") -> Q:
    """Rows at `name` or below it, in any spelling."""
    start = reversed_name(read_name(name))
    exact = Q(**{column: start}) | build_prefix_query(column, start + ".")
    # An OR alone is answered by reading and sorting all of it; within one range that contains it all and
    # little else, the index is walked in the order of the page.
    return Q(**{f"{column}__gte": start, f"{column}__lt": start + _AFTER_THE_DOT}) & exact


def read_prefix(text: str) -> str:
    """The beginning of a name as typed, which need not be a whole name."""
    cleaned = text.strip().lower()
    return cleaned if cleaned.endswith(".") else read_name(cleaned)


def read_name(text: str) -> str:
    """A name as somebody typed it, in the one spelling of the mirror; kept as it is if it is no name."""
    cleaned = text.strip().strip(".").lower()
    try:
        return canonical_name(cleaned)
    except InvalidName:
        return cleaned
