"""The token behind a request, with its user, which every request of the API reads."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import connection, models

from registry_app.models import ApiToken

_Row = TypeVar("_Row", bound=models.Model)
_Convert = Callable[[Any], Any]


def fetch_token(public_id: str) -> ApiToken | None:
    """The token with its user; its owners are read where it is narrowed to some.

    The statement is made once: making it takes Django four times as long as the database takes to answer.
    """
    with connection.cursor() as cursor:
        cursor.execute(_compile(connection.vendor), [public_id])
        row = cursor.fetchone()
    if row is None:
        return None
    columns = len(ApiToken._meta.concrete_fields)
    token = _build(ApiToken, row[:columns])
    token.user = _build(User, row[columns:])
    return token


@cache
def _compile(_vendor: str) -> str:
    found = ApiToken.objects.select_related("user").filter(public_id="").order_by()
    statement, _ = found.query.sql_with_params()
    return str(statement)


def _build(model: type[_Row], values: Sequence[Any]) -> _Row:
    converted = list(values)
    for place, convert in _list_conversions(model, connection.vendor):
        converted[place] = convert(converted[place])
    names = [field.attname for field in model._meta.concrete_fields]
    return model.from_db(connection.alias, names, converted)


@cache
def _list_conversions(model: type[models.Model], _vendor: str) -> list[tuple[int, _Convert]]:
    """What Django does with the values of each column, by its place."""
    return [
        (place, _bind(convert, field))
        for place, field in enumerate(model._meta.concrete_fields)
        for convert in (
            *connection.ops.get_db_converters(field.cached_col),
            *field.get_db_converters(connection),
        )
    ]


def _bind(convert: Callable[[Any, Any, Any], Any], field: "models.Field[Any, Any]") -> _Convert:
    return lambda value: convert(value, field.cached_col, connection)
