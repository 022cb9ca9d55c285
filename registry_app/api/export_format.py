"""Rows as lines of a file: NDJSON, and CSV that no spreadsheet reads as formulas. Pure.

Both end with a closing line that says how many rows were before it: a file without it was cut off.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any, Protocol

import msgspec
from rest_framework import serializers


class Row(Protocol):
    """An object that is encoded with the fields of a list."""

    def __getitem__(self, name: str, /) -> Any: ...


Slices = Iterable[Sequence[Row]]
# A column of a CSV: the keys that lead to its value.
Column = tuple[str, ...]

_CLOSING = "closing"
# What makes a spreadsheet read a cell as a formula, as OWASP has it, full-width signs included.
_FORMULA = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")
_ENCODER = msgspec.json.Encoder(enc_hook=str)


class ExportFormat(Enum):
    """How an export is written."""

    NDJSON = "ndjson"
    CSV = "csv"

    @property
    def media_type(self) -> str:
        return _MEDIA_TYPES[self]

    def format_rows(self, columns: Sequence[Column], slices: Slices) -> Iterator[bytes]:
        """The file, a piece for each slice."""
        return _FORMATS[self](columns, slices)


def list_columns(shape: serializers.BaseSerializer[Any]) -> list[Column]:
    """The columns of a CSV in the order of a row's fields. What is a named object has one for each of its
    fields, such as `provider.id` and `provider.name`."""
    fields = shape.fields if isinstance(shape, serializers.Serializer) else {}
    columns: list[Column] = []
    for name, field in fields.items():
        if isinstance(field, serializers.Serializer):
            columns.extend((name, str(inner)) for inner in field.fields)
        else:
            columns.append((name,))
    return columns


def _format_ndjson(_columns: Sequence[Column], slices: Slices) -> Iterator[bytes]:
    count = 0
    for rows in slices:
        count += len(rows)
        yield _ENCODER.encode_lines(rows)
    yield _ENCODER.encode_lines([{_CLOSING: True, "rows": count}])


def _format_csv(columns: Sequence[Column], slices: Slices) -> Iterator[bytes]:
    count = 0
    yield _format_lines([[".".join(column) for column in columns]])
    for rows in slices:
        count += len(rows)
        yield _format_lines([[format_cell(_find(row, column)) for column in columns] for row in rows])
    yield _format_lines([[_CLOSING, str(count), *[""] * (len(columns) - 2)]])


def _format_lines(rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()


def _find(row: Row, column: Column) -> Any:
    value: Any = row
    for key in column:
        value = None if value is None else value[key]
    return value


def format_cell(value: object) -> str:
    """One cell: a text that a spreadsheet would take for a formula begins with an apostrophe; lists and
    objects are JSON; null is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return _ENCODER.encode(value).decode()


_MEDIA_TYPES: Mapping[ExportFormat, str] = MappingProxyType(
    {ExportFormat.NDJSON: "application/x-ndjson", ExportFormat.CSV: "text/csv"}
)
_FORMATS: Mapping[ExportFormat, Callable[[Sequence[Column], Slices], Iterator[bytes]]] = MappingProxyType(
    {ExportFormat.NDJSON: _format_ndjson, ExportFormat.CSV: _format_csv}
)
