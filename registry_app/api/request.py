"""What a request may contain: JSON that can be read in one way only, known fields, known parameters."""

import re
from collections.abc import Collection, Mapping
from typing import IO, Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.http.request import QueryDict
from django.urls import register_converter
from django.urls.converters import StringConverter
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from providers.wire.strict_json import NotStrictJson, parse_strict_json
from registry_app.api.fields import RowSerializer
from registry_app.api.problem import BodyTooLarge, InvalidParameter, MalformedBody, flatten_problems

_MAX_DEPTH = 8
# Not a backslash of its own before it: that would be the text of six characters.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000").search
# Those of lists and exports that filter nothing.
_PAGE_PARAMETERS = ("limit", "cursor", "format")
# A number that fits into the column, or a UUID as Django takes it in addresses.
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


# What the filters of each list are where none is given.
_UNFILTERED: dict[type[serializers.BaseSerializer[Any]], dict[str, Any]] = {}


class StrictJsonParser(BaseParser):
    """JSON in UTF-8, bounded in size and depth; no key twice, no NaN, no NUL, no lone surrogate."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise BodyTooLarge(f"The body is larger than {limit} bytes.", todo="Ask for less at a time.")
        return parse_body(raw)


def parse_body(raw: bytes) -> Any:
    """The value. Raises MalformedBody."""
    try:
        value = parse_strict_json(raw, max_depth=_MAX_DEPTH)
    except NotStrictJson as error:
        raise MalformedBody(f"The body cannot be used: {error}.") from None
    if _NUL(raw):
        raise MalformedBody("The body cannot be used: a NUL character in a text.")
    return value


class StrictFields:
    """Mixed into a serializer: refuses unknown fields by name instead of dropping them.

    `renamed` maps each old name of a field, which is accepted as well and marked as deprecated in the OpenAPI
    document, to its name.
    """

    renamed: ClassVar[Mapping[str, str]] = {}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for old, name in self.renamed.items():
            if old in attrs and name in attrs:
                raise ValidationError({old: [f"This is the old name of `{name}`. Give one of the two."]})
            if old in attrs:
                attrs[name] = attrs.pop(old)
        return attrs

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            known = {name for name, field in self.fields.items() if not field.read_only}  # type: ignore[attr-defined]  # the serializer it is mixed into has them
            if unknown := sorted(str(name) for name in set(data) - known):
                raise ValidationError({name: ["There is no such field."] for name in unknown})
        return super().to_internal_value(data)  # type: ignore[misc]  # as above


class StrictSerializer(StrictFields, serializers.Serializer[Any]):
    """A body of named fields."""


class StrictModelSerializer(StrictFields, RowSerializer[Any]):
    """A body whose fields are a model's. It checks types; the mutation checks the rules."""


class EmptyBody(StrictSerializer):
    """A request without fields."""


class ReasonBody(StrictSerializer):
    """Why."""

    reason = serializers.CharField(allow_blank=True, default="", max_length=5000)


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
    if filters:
        return _read_filters(shape, filters)
    # Most lists are asked for without any.
    if shape not in _UNFILTERED:
        _UNFILTERED[shape] = _read_filters(shape, {})
    return dict(_UNFILTERED[shape])


def _read_filters(shape: type[serializers.BaseSerializer[Any]], filters: Mapping[str, Any]) -> dict[str, Any]:
    serializer = shape(data=filters)
    try:
        serializer.is_valid(raise_exception=True)
    except ValidationError as error:
        raise bad_parameters(flatten_problems(error.detail)) from error
    values: dict[str, Any] = serializer.validated_data
    return values


class TransferIdConverter:
    """The id that programs use, or the number that people see: `c0a2...` or `12`."""

    regex = f"{_UUID}|[0-9]{{1,18}}"

    def to_python(self, value: str) -> UUID | int:
        return int(value) if value.isdigit() else UUID(value)

    def to_url(self, value: UUID | int | str) -> str:
        return str(value)


register_converter(TransferIdConverter, "transfer")
register_converter(StringConverter, "provider")
register_converter(StringConverter, "owner")


def identify_transfer(transfer_id: UUID | int) -> dict[str, Any]:
    """The condition that finds the row."""
    return {"pk": transfer_id} if isinstance(transfer_id, int) else {"public_id": transfer_id}


def read_body(
    shape: type[serializers.BaseSerializer[Any]], request: Request, **options: Any
) -> dict[str, Any]:
    """The body as `shape` has it. Raises ValidationError, which is answered with the fields."""
    serializer = shape(data=request.data, **options)
    serializer.is_valid(raise_exception=True)
    values: dict[str, Any] = serializer.validated_data
    return values


class AcceptAlone(DefaultContentNegotiation):
    """`format` in the query string chooses nothing: it is a parameter like any other, and unknown."""

    def filter_renderers(self, renderers: Any, format: str) -> Any:  # noqa: A002  # its name there
        return renderers
