"""Serializers of rows, the same over every database."""

from typing import Any, TypeVar

from django.db import models
from rest_framework import serializers

Row = TypeVar("Row", bound=models.Model)

_LARGEST_INTEGER = 2**31 - 1


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
