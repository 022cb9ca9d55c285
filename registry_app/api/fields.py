"""Serializers of rows, and fields that name other objects: owners by owner id, providers by id or name."""

from typing import Any, TypeVar

from django.db import models
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from providers.wire.canonical_name import InvalidName, canonical_name
from registry_app.models import PROVIDER_SECRETS, Owner, Provider
from registry_app.queries.named_row import find_named_provider, parse_row_id, read_prefix
from registry_app.queries.search import LONGEST, SHORTEST, explain_unsearchable

Row = TypeVar("Row", bound=models.Model)

_LARGEST_INTEGER = 2**31 - 1
_MAX_ID = 2**63 - 1
_MOST_WORDS, _LONGEST_WORD = 50, 20
_Rows = TypeVar("_Rows", bound=models.Model)
ID_OR_NAME: dict[str, list[dict[str, Any]]] = {
    "oneOf": [
        {"type": "integer", "format": "int64", "minimum": 1, "maximum": _MAX_ID},
        {"type": "string", "minLength": 1},
    ]
}


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


def with_provider(rows: models.QuerySet[_Rows]) -> models.QuerySet[_Rows]:
    """Rows with their provider, without its secrets: a page needs none, and one that cannot be decrypted
    must not take the page with it."""
    return rows.select_related("provider").defer(*PROVIDER_SECRETS)


class EndpointKeyAnswer(serializers.Serializer[Any]):
    """What identifies a record set at a provider."""

    name = serializers.CharField()
    record_type = serializers.CharField()
    set_identifier = serializers.CharField()


class ReportAnswer(serializers.Serializer[Any]):
    """What a test of a connection found."""

    is_ok = serializers.BooleanField()
    error_code = serializers.CharField()
    error = serializers.CharField()
    hint = serializers.CharField()


class ProviderReference(RowSerializer[Provider]):
    """A provider, named."""

    class Meta:
        model = Provider
        fields = ("id", "name")


class OwnerIdField(serializers.SlugRelatedField[Owner]):
    """An owner by its owner id."""

    def __init__(self, **options: Any) -> None:
        super().__init__(slug_field="owner_id", **options)


class SecretField(serializers.CharField):
    """A secret in a body. No answer has it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(write_only=True, required=False, allow_blank=True, **options)


class NameField(serializers.SlugRelatedField[Any]):
    """A row in a body by its name; null for none."""

    def __init__(self, rows: models.QuerySet[Any] | None = None, **options: Any) -> None:
        super().__init__("name", queryset=rows, required=False, allow_null=True, **options)


class RowIdField(serializers.IntegerField):
    """The id of a row: a positive 64-bit integer."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=_MAX_ID, **options)


@extend_schema_field(ID_OR_NAME)
class ProviderField(serializers.RelatedField[Provider, int | str, Any]):
    """A provider in a body, by id or name."""

    def __init__(self, **options: Any) -> None:
        super().__init__(queryset=Provider.objects.all(), **options)

    def to_internal_value(self, data: Any) -> Provider:
        return _find_provider(data)


@extend_schema_field(ID_OR_NAME)
class ProviderIdField(RowIdField):
    """The id of a provider in a body; its name is accepted, too."""

    def to_internal_value(self, data: Any) -> int:
        is_name = isinstance(data, str) and parse_row_id(data) is None
        return _find_provider(data).pk if is_name else super().to_internal_value(data)


class OwnerFilterField(serializers.CharField):
    """An owner id in a filter. An unknown one is a typing error, not an empty list."""

    def to_internal_value(self, data: Any) -> Owner:  # type: ignore[override]  # the stubs fix it to str
        text = super().to_internal_value(data)
        owner = Owner.objects.filter(owner_id=text).first()
        if owner is None:
            raise serializers.ValidationError("There is no owner with this id.")
        return owner


class ProviderFilterField(serializers.CharField):
    """A provider in a filter, by id or name."""

    def to_internal_value(self, data: Any) -> Provider:  # type: ignore[override]  # the stubs fix it to str
        return _find_provider(super().to_internal_value(data))


class DnsNameField(serializers.CharField):
    """A DNS name in any spelling, read as its canonical one."""

    def to_internal_value(self, data: Any) -> str:
        try:
            return canonical_name(super().to_internal_value(data))
        except InvalidName as error:
            raise serializers.ValidationError(f"This is not a DNS name: {error}.") from error


class NamePrefixField(serializers.CharField):
    """The beginning of a DNS name."""

    def to_internal_value(self, data: Any) -> str:
        return read_prefix(super().to_internal_value(data))


class SearchField(serializers.CharField):
    """A text to be found in any place."""

    def __init__(self, searched: str) -> None:
        about = f"A text in {searched}: {SHORTEST} to {LONGEST} characters, taken literally, but for case."
        super().__init__(required=False, help_text=about)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        text = super().run_validation(data)
        if problem := explain_unsearchable(text):
            raise serializers.ValidationError(problem)
        return text


class WordsField(serializers.CharField):
    """Comma-separated words, each among `choices` where given."""

    def __init__(self, *, choices: tuple[str, ...] = (), **options: Any) -> None:
        self.choices = choices
        super().__init__(max_length=500, **options)

    def to_internal_value(self, data: Any) -> tuple[str, ...]:  # type: ignore[override]  # as above
        words = _split_words(super().to_internal_value(data))
        unknown = [word for word in words if self.choices and word not in self.choices]
        if unknown or not words:
            raise serializers.ValidationError(f"Choose among {', '.join(self.choices) or 'words'}.")
        return words


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": _MOST_WORDS},
        ]
    }
)
class OneOrMoreWordsField(serializers.Field[tuple[str, ...], Any, Any, Any]):
    """A word in a body, or several: comma-separated as in a query string, or a list."""

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        words = _split_words(data) if isinstance(data, str) else data
        if not isinstance(words, tuple | list) or not all(isinstance(word, str) and word for word in words):
            raise serializers.ValidationError("Give one text, or a list of texts.")
        if isinstance(data, str) and not words:
            raise serializers.ValidationError("This text is empty.")
        if len(words) > _MOST_WORDS or any(len(word) > _LONGEST_WORD for word in words):
            raise serializers.ValidationError(
                f"At most {_MOST_WORDS} texts of at most {_LONGEST_WORD} characters."
            )
        return tuple(words)


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _find_provider(named: Any) -> Provider:
    is_id_or_name = isinstance(named, int | str) and not isinstance(named, bool)
    provider = find_named_provider(named) if is_id_or_name else None
    if provider is None:
        raise serializers.ValidationError("There is no such provider.")
    return provider
