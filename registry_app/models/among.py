"""The lookup `among`: what `in` finds, with one parameter for all values."""

from collections.abc import Collection
from typing import Any

import msgspec
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler


@models.Field.register_lookup
class Among(models.Lookup):
    """`name__among=names`, of texts or numbers. Of `in`, Django looks at each value several times, 5 µs in
    all, and SQLite bounds how many there are."""

    lookup_name = "among"
    rhs: Collection[str] | Collection[int]

    def get_prep_lookup(self) -> Collection[str] | Collection[int]:
        return self.rhs

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        column, parameters = self.process_lhs(compiler, connection)
        values = list(self.rhs)
        if connection.vendor == "postgresql":
            return f"{column} = ANY(%s)", [*parameters, values]
        text = msgspec.json.encode(values).decode()
        # `column` is Django's, the values are a parameter.
        return f"{column} IN (SELECT value FROM json_each(%s))", [*parameters, text]  # noqa: S608
