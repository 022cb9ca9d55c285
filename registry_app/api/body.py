"""Strict bodies: JSON that can be read in one way only, and no field nobody asked for."""

import json
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser

from registry_app.api.problem import BodyTooLarge, MalformedBody
from registry_app.api.row_serializer import RowSerializer

_MAX_DEPTH = 8
_MAX_DIGITS = 20


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
        return parse_strict_json(raw)


def parse_strict_json(raw: bytes) -> Any:
    """The value. Raises MalformedBody."""
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_build_object,
            parse_constant=_refuse_constant,
            parse_int=_parse_integer,
        )
    except UnicodeDecodeError:
        raise MalformedBody("The body is not UTF-8.") from None
    except RecursionError:
        raise MalformedBody(f"The body is nested deeper than {_MAX_DEPTH} levels.") from None
    except json.JSONDecodeError as error:
        raise MalformedBody(f"The body is not JSON: line {error.lineno}, column {error.colno}.") from None
    _raise_if_unfit(value)
    return value


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise MalformedBody("An object in the body has the same key twice.")
    return built


def _refuse_constant(_name: str) -> Any:
    raise MalformedBody("NaN and Infinity are not JSON.")


def _parse_integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise MalformedBody(f"A number in the body has more than {_MAX_DIGITS} digits.")
    return int(digits)


def _raise_if_unfit(value: Any) -> None:
    """Walk without recursion: what to look at, and how deep it lies."""
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        current, depth = waiting.pop()
        if isinstance(current, str):
            _raise_if_unfit_text(current)
        elif isinstance(current, dict | list):
            if depth > _MAX_DEPTH:
                raise MalformedBody(f"The body is nested deeper than {_MAX_DEPTH} levels.")
            children = [*current.keys(), *current.values()] if isinstance(current, dict) else current
            waiting.extend((child, depth + 1) for child in children)


def _raise_if_unfit_text(text: str) -> None:
    if "\0" in text:
        raise MalformedBody("A text in the body has a NUL character in it.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise MalformedBody("A text in the body has half a surrogate pair in it.")


class StrictFields:
    """Mixed into a serializer: refuses unknown fields by name instead of dropping them."""

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
