"""The lookup `holds`: a text occurs in a column, literally, but for upper and lower case of ASCII."""

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler

_ESCAPED = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


@models.Field.register_lookup
class Holds(models.Lookup):
    """`name__holds="shop"`: the same on SQLite and PostgreSQL, other than `icontains`. A JSON column is a
    list of texts, one of which holds it."""

    lookup_name = "holds"
    rhs: str

    def get_prep_lookup(self) -> str:
        return self.rhs

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        column, parameters = self.process_lhs(compiler, connection)
        if not isinstance(self.lhs.output_field, models.JSONField):
            return build_like(column, connection.vendor), [*parameters, build_pattern(self.rhs)]
        values = "jsonb_array_elements_text" if connection.vendor == "postgresql" else "json_each"
        like = build_like("each.value", connection.vendor)
        # Names of ours and of Django's; the pattern is a parameter.
        condition = f"EXISTS (SELECT 1 FROM {values}({column}) AS each WHERE {like})"  # noqa: S608
        return condition, [*parameters, build_pattern(self.rhs)]


def build_like(expression: str, vendor: str) -> str:
    """The condition that an expression matches the pattern that is its parameter."""
    if vendor == "postgresql":
        # In this collation upper and lower case are those of ASCII, as SQLite has it.
        return f"{expression} COLLATE \"C\" ILIKE %s ESCAPE '\\'"
    return f"{expression} LIKE %s ESCAPE '\\'"


def build_pattern(text: str) -> str:
    """The pattern of whatever contains `text`, with nothing in it that has a meaning."""
    return f"%{text.translate(_ESCAPED)}%"
