"""The query string: nothing in it is ignored. What is not known, or is given twice, is refused by name."""

from collections.abc import Collection
from typing import Any

from django.http.request import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from registry_app.api.problem import InvalidParameter, flatten_problems

_PAGE_PARAMETERS = ("limit", "cursor")


def raise_if_unknown(parameters: QueryDict, known: Collection[str]) -> None:
    """Raise InvalidParameter where a parameter is not among `known`, or is there more than once.

    Ignored, a filter would show everything to somebody who asked for a part, and a `dry_run` that is
    misspelt would do what was only to be tried.
    """
    names = ", ".join(sorted(known))
    takes = f"This operation takes {names}." if names else "This operation takes no parameters."
    fields = {name: [f"There is no such parameter. {takes}"] for name in sorted(set(parameters) - set(known))}
    if not fields:
        fields = {name: ["Give it once."] for name, values in parameters.lists() if len(values) > 1}
    if fields:
        raise bad_parameters(fields)


def bad_parameters(fields: dict[str, list[str]]) -> InvalidParameter:
    """The refusal of a query string, by parameter."""
    return InvalidParameter("The query string cannot be used.", fields=fields)


def read_parameters(shape: type[serializers.BaseSerializer[Any]], parameters: QueryDict) -> dict[str, Any]:
    """The filters of the query string as `shape` has them. Raises InvalidParameter."""
    filters = {name: value for name, value in parameters.items() if name not in _PAGE_PARAMETERS}
    serializer = shape(data=filters)
    try:
        serializer.is_valid(raise_exception=True)
    except ValidationError as error:
        raise bad_parameters(flatten_problems(error.detail)) from error
    values: dict[str, Any] = serializer.validated_data
    return values
