"""Cursor pagination: the next page begins after the last row seen, however many rows came or went."""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from django.db import models
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from registry_app.api.problem import InvalidParameter
from registry_app.api.row_shape import RowShape
from registry_app.queries.keyset import NEWEST_FIRST, Keyset, position_of, slice_after

DEFAULT_LIMIT = 50
MAX_LIMIT = 1000
_ENCODER = msgspec.json.Encoder(enc_hook=str)


def build_cursor(keyset: Keyset, position: Sequence[Any]) -> str:
    """An opaque text for "after this position, in this order"."""
    values = [list(keyset.ordering), list(position)]
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def parse_cursor(keyset: Keyset, text: str) -> tuple[Any, ...]:
    """The position. Raises InvalidParameter for a cursor of another list, or none at all."""
    try:
        padded = text + "=" * (-len(text) % 4)
        ordering, values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, TypeError, RecursionError):
        raise _bad_cursor() from None
    if ordering != list(keyset.ordering) or not _fits(values, keyset):
        raise _bad_cursor()
    return tuple(values)


def _fits(values: object, keyset: Keyset) -> bool:
    if not isinstance(values, list) or len(values) != len(keyset.columns):
        return False
    *leading, last = values
    is_id = isinstance(last, int) and not isinstance(last, bool)
    return is_id and all(isinstance(value, str) and value.isprintable() for value in leading)


def _bad_cursor() -> InvalidParameter:
    return InvalidParameter(
        "The cursor does not belong to this list.",
        fields={"cursor": ["Take it from `next_cursor` of the page before, with the same filters."]},
        todo="Begin again without a cursor.",
    )


class ListResponse(Response):
    """A page, encoded in a tenth of the time; the bytes are the same."""

    @property
    def rendered_content(self) -> Any:
        self["Content-Type"] = "application/json"
        return _ENCODER.encode(self.data)


class KeysetPagination(BasePagination):
    """One page: its rows, and where the next one begins. Never counts the whole."""

    def __init__(self) -> None:
        self.next_cursor: str | None = None
        self.next_address: str | None = None

    def paginate_queryset(
        self, queryset: models.QuerySet[Any] | Sequence[Any], request: Request, view: APIView | None = None
    ) -> list[Any]:
        keyset: Keyset = getattr(view, "keyset", NEWEST_FIRST)
        return self._read(queryset, request, keyset, None)

    def paginate_values(
        self,
        queryset: models.QuerySet[Any] | Sequence[Any],
        request: Request,
        keyset: Keyset,
        shape: RowShape,
    ) -> list[dict[str, Any]]:
        """The rows of one page as the shape shows them, but for what is computed."""
        return shape.show(self._read(queryset, request, keyset, shape))

    def _read(
        self,
        queryset: models.QuerySet[Any] | Sequence[Any],
        request: Request,
        keyset: Keyset,
        shape: RowShape | None,
    ) -> list[Any]:
        # A list may be made of several, one after the other, in the order of the keyset's first column.
        lists = queryset if isinstance(queryset, list) else [queryset]
        limit = parse_limit(request.query_params)
        cursor = request.query_params.get("cursor")
        position = None if cursor is None else parse_cursor(keyset, cursor)
        rows: list[Any] = []
        for each in lists:
            if not isinstance(each, models.QuerySet):
                raise TypeError("Only rows of the database have a keyset.")
            found = slice_after(each, keyset, position)[: limit + 1 - len(rows)]
            rows += found if shape is None else shape.fetch(found, keyset)
        if len(rows) > limit:
            last = rows[limit - 1]
            place = position_of(last, keyset) if shape is None else shape.position_of(last, keyset)
            self.end_after(request, keyset, place)
        return rows[:limit]

    def end_after(self, request: Request, keyset: Keyset, position: Sequence[Any]) -> None:
        """Let the next page begin after this position."""
        self.next_cursor = build_cursor(keyset, position)
        self.next_address = _replace_cursor(request, self.next_cursor)

    def get_paginated_response(self, data: Any) -> Response:
        return ListResponse({"items": data, "next": self.next_address, "next_cursor": self.next_cursor})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["items", "next", "next_cursor"],
            "properties": {
                "items": schema,
                "next": {"type": ["string", "null"], "format": "uri", "description": "The next page."},
                "next_cursor": {"type": ["string", "null"]},
            },
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        return [
            {
                "name": "limit",
                "in": "query",
                "description": "Rows on one page.",
                "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
            },
            {
                "name": "cursor",
                "in": "query",
                "description": "`next_cursor` of the page before.",
                "schema": {"type": "string"},
            },
        ]


def parse_limit(parameters: Mapping[str, str]) -> int:
    """`limit` of the query string. Raises InvalidParameter."""
    text = parameters.get("limit", str(DEFAULT_LIMIT))
    if text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= MAX_LIMIT:
        return int(text)
    raise InvalidParameter(
        "The limit cannot be used.", fields={"limit": [f"Give a whole number from 1 to {MAX_LIMIT}."]}
    )


def _replace_cursor(request: Request, cursor: str) -> str:
    parameters = request.query_params.copy()
    parameters["cursor"] = cursor
    return request.build_absolute_uri(f"{request.path}?{parameters.urlencode()}")
