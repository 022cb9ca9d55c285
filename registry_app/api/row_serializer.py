"""Serializers of rows, the same over every database."""

from typing import Any, TypeVar

from django.db import models
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

Row = TypeVar("Row", bound=models.Model)

_LARGEST_INTEGER = 2**31 - 1


@extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
class ObjectOrNullField(serializers.JSONField):
    """An object as it was stored, null where there is none. Declared read-only, without `allow_null`: the
    document would then say null twice, and of two ways to read a value a strict reader takes neither."""


@extend_schema_field({"type": ["array", "null"], "items": {"type": "object", "additionalProperties": True}})
class ObjectsOrNullField(serializers.JSONField):
    """Objects as they were stored, null where there are none. As above."""


class RowSerializer(serializers.ModelSerializer[Row]):
    """A model serializer whose ranges are those of PostgreSQL, also where SQLite would take more."""

    def build_standard_field(
        self, field_name: str, model_field: "models.Field[Any, Any]"
    ) -> tuple[type[serializers.Field[Any, Any, Any, Any]], dict[str, Any]]:
        shape, options = super().build_standard_field(field_name, model_field)
        is_wide = isinstance(model_field, models.BigIntegerField | models.PositiveBigIntegerField)
        if isinstance(model_field, models.IntegerField) and not is_wide and "max_value" in options:
            options["max_value"] = min(options["max_value"], _LARGEST_INTEGER)
        return shape, options
