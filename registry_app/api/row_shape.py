"""The rows of a list without an object a row: columns of the database become what a serializer would show.

A shape is read from the serializer, which stays the only description of a noun. Where a field is neither a
column nor named in `computed`, there is none, and the serializer shows the rows.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from django.db import models
from rest_framework import serializers

from registry_app.models import EncryptedTextField
from registry_app.queries.keyset import Keyset
from registry_app.queries.record_set_rows import fetch_as_stored, format_moment

Serializer = type[serializers.BaseSerializer[Any]]
Shown = dict[str, Any]
_Convert = Callable[[Any], Any]
_parse_json = msgspec.json.Decoder().decode
_PLAIN = (
    serializers.CharField,
    serializers.ChoiceField,
    serializers.IntegerField,
    serializers.BooleanField,
    serializers.DateTimeField,
    serializers.UUIDField,
    serializers.JSONField,
    serializers.ListField,
    serializers.DictField,
    serializers.ReadOnlyField,
)


# Each is read once; a class of DRF is no key of `cache` to the type checker.
_SHAPES: dict[Serializer, "RowShape | None"] = {}


class _Entry(NamedTuple):
    """One member of what is shown: the value at a place of the row, or all of the row, converted."""

    name: str
    place: int | None
    convert: _Convert | None


class _NoShape(Exception):
    """A field is no column."""


class RowShape:
    """Columns, and how a row of them is shown."""

    def __init__(self, shape: serializers.ModelSerializer[Any]) -> None:
        """Raises _NoShape."""
        self._places: dict[str, int] = {}
        self._columns: list[str] = []
        self._entries = self._read(shape, shape.Meta.model, "")

    def fetch(self, rows: models.QuerySet[Any], keyset: Keyset) -> list[Sequence[Any]]:
        """These rows as values: the columns of the shape, then those of the keyset that it lacks."""
        more = (name for name in keyset.columns if name not in self._places)
        return fetch_as_stored(rows.prefetch_related(None).values_list(*self._columns, *more))

    def position_of(self, row: Sequence[Any], keyset: Keyset) -> tuple[Any, ...]:
        """Where a selected row is in the order of its keyset."""
        more = iter(row[len(self._columns) :])
        return tuple(
            row[self._places[name]] if name in self._places else next(more) for name in keyset.columns
        )

    def show(self, rows: Sequence[Sequence[Any]]) -> list[Shown]:
        """Selected rows as the serializer would show them, but for what is computed."""
        entries = self._entries
        return [
            {
                name: (row if place is None else row[place])
                if convert is None
                else convert(row if place is None else row[place])
                for name, place, convert in entries
            }
            for row in rows
        ]

    def _read(self, shape: serializers.Serializer[Any], model: type[models.Model], path: str) -> list[_Entry]:
        if type(shape).to_representation is not serializers.Serializer.to_representation:
            raise _NoShape
        computed: Mapping[str, str] = getattr(shape, "computed", {})
        return [
            self._take(name, model, path, computed[name])
            if name in computed
            else self._read_field(field, model, path)
            for name, field in shape.fields.items()
            if not field.write_only
        ]

    def _read_field(
        self, field: serializers.Field[Any, Any, Any, Any], model: type[models.Model], path: str
    ) -> _Entry:
        name, source = str(field.field_name), "__".join(field.source_attrs)
        if isinstance(field, serializers.ModelSerializer):
            related = _follow(model, source)
            entries = self._read(field, related, f"{path}{source}__")
            return _Entry(name, None, _build_nested(entries))
        if isinstance(field, serializers.SlugRelatedField):
            return self._take(name, model, path, f"{source}__{field.slug_field}")
        if not isinstance(field, _PLAIN):
            raise _NoShape
        if "__" in source and _is_optional(model, source):
            raise _NoShape  # what it shows then, the field says
        return self._take(name, model, path, source)

    def _take(self, name: str, model: type[models.Model], path: str, source: str) -> _Entry:
        *relations, column = source.split("__")
        field = _find_column(_follow(model, "__".join(relations)), column)
        place = f"{path}{source}"
        if place not in self._places:
            self._places[place] = len(self._columns)
            self._columns.append(place)
        return _Entry(name, self._places[place], _find_conversion(field))


def find_shape(serializer: Serializer) -> RowShape | None:
    """The shape of a serializer; None where the serializer itself has to show each row."""
    if serializer not in _SHAPES:
        _SHAPES[serializer] = _build_shape(serializer)
    return _SHAPES[serializer]


def _build_shape(serializer: Serializer) -> RowShape | None:
    if not issubclass(serializer, serializers.ModelSerializer):
        return None
    try:
        return RowShape(serializer())
    except _NoShape:
        return None


def _follow(model: type[models.Model], relations: str) -> type[models.Model]:
    for name in filter(None, relations.split("__")):
        related = _find_column(model, name).related_model
        if not isinstance(related, type):
            raise _NoShape
        model = related
    return model


def _find_column(model: type[models.Model], name: str) -> "models.Field[Any, Any]":
    """The column, by the name of its field or its own."""
    for field in model._meta.concrete_fields:
        if name in (field.name, field.attname):
            return field
    raise _NoShape


def _is_optional(model: type[models.Model], source: str) -> bool:
    *relations, _column = source.split("__")
    return any(
        _find_column(_follow(model, "__".join(relations[:place])), name).null
        for place, name in enumerate(relations)
    )


def _find_conversion(field: "models.Field[Any, Any]") -> _Convert | None:
    if isinstance(field, models.DateTimeField):
        return _format_moment
    if isinstance(field, models.JSONField):
        return _read_json
    if isinstance(field, models.UUIDField):
        return _format_uuid
    if isinstance(field, models.BooleanField):
        return _read_boolean
    if isinstance(field, models.BinaryField | EncryptedTextField):
        raise _NoShape
    return None


def _build_nested(entries: Sequence[_Entry]) -> _Convert:
    """An object of another row; null where the row is not there, which its first column says."""
    first = entries[0].place
    if first is None or any(place is None or convert for _, place, convert in entries):
        raise _NoShape
    places = [(name, place) for name, place, _ in entries if place is not None]

    def build(row: Any) -> Shown | None:
        return None if row[first] is None else {name: row[place] for name, place in places}

    return build


def _read_json(text: str | None) -> Any:
    return None if text is None else _parse_json(text)


# All changes of a sync have one time.
@lru_cache(maxsize=1_000)
def _format_moment(value: datetime | str | None) -> str | None:
    if value is None or isinstance(value, str):  # as SQLite has it
        return None if value is None else format_moment(value)
    return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _format_uuid(value: UUID | str | None) -> str | None:
    return None if value is None else str(UUID(value) if isinstance(value, str) else value)


def _read_boolean(value: int | None) -> bool | None:
    return None if value is None else bool(value)
