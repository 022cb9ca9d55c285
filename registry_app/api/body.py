"""Strict bodies: JSON that can be read in one way only, and no field nobody asked for."""

import re
from collections.abc import Mapping
from typing import IO, Any, ClassVar

from django.conf import settings
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser

from providers.wire.strict_json import NotStrictJson, parse_strict_json
from registry_app.api.problem import BodyTooLarge, MalformedBody
from registry_app.api.row_serializer import RowSerializer

_MAX_DEPTH = 8
# Not a backslash of its own before it: that would be the text of six characters.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000").search


class StrictJsonParser(BaseParser):
    """JSON in UTF-8, bounded in size and depth; no key twice, no NaN, no NUL, no lone surrogate."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
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
    """A body whose fields are a model's. It reads types; rules are asked of the mutation it goes to."""


class EmptyBody(StrictSerializer):
    """A request that needs no words."""


class ReasonBody(StrictSerializer):
    """Why."""

    reason = serializers.CharField(allow_blank=True, default="", max_length=5000)
