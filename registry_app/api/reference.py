"""How other objects are named in answers, bodies and filters: owners by owner id, providers by id or name."""

from typing import Any, TypeVar

from django.db import models
from rest_framework import serializers

from providers.wire.canonical_name import InvalidName, canonical_name
from registry_app.api.row_serializer import RowSerializer
from registry_app.models import PROVIDER_SECRETS, Owner, Provider

_MAX_ID = 2**63 - 1
_Rows = TypeVar("_Rows", bound=models.Model)


def with_provider(rows: models.QuerySet[_Rows]) -> models.QuerySet[_Rows]:
    """Rows with their provider, without its secrets: a page needs none, and one that cannot be decrypted
    must not take the page with it."""
    return rows.select_related("provider").defer(*PROVIDER_SECRETS)


def is_set(column: str) -> "models.ExpressionWrapper[models.Q]":
    """Whether a secret is stored, asked without decrypting it."""
    return models.ExpressionWrapper(~models.Q(**{column: ""}), output_field=models.BooleanField())


class ProviderReference(RowSerializer[Provider]):
    """A provider, named."""

    class Meta:
        model = Provider
        fields = ("id", "name")


class OwnerIdField(serializers.SlugRelatedField[Owner]):
    """An owner by its owner id."""

    def __init__(self, **options: Any) -> None:
        super().__init__(slug_field="owner_id", **options)


class RowIdField(serializers.IntegerField):
    """The id of a row: a positive 64-bit integer."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=_MAX_ID, **options)


class OwnerFilterField(serializers.CharField):
    """An owner id in a filter. One nobody has heard of is a typing error, not an empty list."""

    def to_internal_value(self, data: Any) -> Owner:  # type: ignore[override]  # the stubs fix it to str
        text = super().to_internal_value(data)
        owner = Owner.objects.filter(owner_id=text).first()
        if owner is None:
            raise serializers.ValidationError("There is no owner with this id.")
        return owner


class ProviderFilterField(serializers.CharField):
    """A provider in a filter, by id or name."""

    def to_internal_value(self, data: Any) -> Provider:  # type: ignore[override]  # the stubs fix it to str
        text = super().to_internal_value(data)
        is_id = text.isascii() and text.isdigit() and len(text) < 19
        providers = Provider.objects
        provider = providers.filter(pk=int(text)).first() if is_id else providers.filter(name=text).first()
        if provider is None:
            raise serializers.ValidationError("There is no such provider.")
        return provider


class DnsNameField(serializers.CharField):
    """A DNS name in any spelling, read as its canonical one."""

    def to_internal_value(self, data: Any) -> str:
        try:
            return canonical_name(super().to_internal_value(data))
        except InvalidName as error:
            raise serializers.ValidationError(f"This is not a DNS name: {error}.") from error


class WordsField(serializers.CharField):
    """Comma-separated words, each among `choices` where given."""

    def __init__(self, *, choices: tuple[str, ...] = (), **options: Any) -> None:
        self.choices = choices
        super().__init__(max_length=500, **options)

    def to_internal_value(self, data: Any) -> tuple[str, ...]:  # type: ignore[override]  # as above
        words = tuple(word.strip() for word in super().to_internal_value(data).split(",") if word.strip())
        unknown = [word for word in words if self.choices and word not in self.choices]
        if unknown or not words:
            raise serializers.ValidationError(f"Choose among {', '.join(self.choices) or 'words'}.")
        return words
