"""Contention: names where what instances want and what is owned do not agree. Read only."""

from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry_app.api.fields import (
    DnsNameField,
    OwnerFilterField,
    ProviderFilterField,
    ProviderReference,
    RowSerializer,
)
from registry_app.api.finding import Suggestion, SuggestionAnswer
from registry_app.api.request import StrictSerializer
from registry_app.api.view_set import NounViewSet, describe
from registry_app.models import Contention, Owner, OwnershipState
from registry_app.queries.contention import build_owner_query, list_contention
from registry_app.queries.keyset import BY_NAME, Keyset
from registry_app.queries.named_row import build_suffix_query

_BY_LABELS = Keyset(("name_reversed", "id"))
_API = "/api/v1"


class ContentionParameters(StrictSerializer):
    kind = serializers.ChoiceField(choices=Contention.Kind.choices, required=False)
    provider = ProviderFilterField(required=False, help_text="Id or name.")
    owner = OwnerFilterField(required=False, help_text="Owner id: it wants the name, or owns what is there.")
    name = DnsNameField(required=False, help_text="Exactly this name, in any spelling.")
    name_suffix = DnsNameField(required=False, help_text="This name and everything below it.")


class WishingGuardEndpoint(serializers.Serializer[Any]):
    """The guard endpoint of an instance."""

    id = serializers.IntegerField()
    slug = serializers.CharField()


class WishAnswer(serializers.Serializer[Any]):
    """An instance that wants the name."""

    guard_endpoint = WishingGuardEndpoint()
    instance = serializers.CharField(help_text="Its name.")
    owner = serializers.CharField(help_text="Owner id.")
    types = serializers.ListField(child=serializers.CharField(), help_text="The record types it wants.")
    targets = serializers.ListField(child=serializers.CharField(), help_text="At most 10 of them.")
    since = serializers.DateTimeField(help_text="Since when it wants the name.")
    is_stale = serializers.BooleanField(
        help_text="The instance did not post for three of its intervals, so it may want something else now."
    )


class HeldAnswer(serializers.Serializer[Any]):
    """A record set that is there."""

    record_set = serializers.IntegerField(help_text="Its id.")
    type = serializers.CharField()
    state = serializers.ChoiceField(choices=OwnershipState.choices)
    owner = serializers.CharField(allow_blank=True, help_text="Owner id; empty: nobody's, or not known.")


class ContentionAnswer(RowSerializer[Contention]):
    """A name with its set identifier where wishes and ownership differ, and what solves that."""

    provider = ProviderReference()
    record_types = serializers.ListField(child=serializers.CharField(), help_text="Those it is about.")
    wanted_by = WishAnswer(many=True)
    owned_by = HeldAnswer(many=True)
    suggestion = serializers.SerializerMethodField()

    class Meta:
        model = Contention
        fields = (
            "id",
            "kind",
            "provider",
            "name",
            "set_identifier",
            "record_types",
            "wanted_by",
            "owned_by",
            "is_stale",
            "advice",
            "suggestion",
            "since",
        )

    @extend_schema_field(SuggestionAnswer(allow_null=True))
    def get_suggestion(self, row: Contention) -> Suggestion | None:
        return build_suggestion(row, self.context["registered"])


def build_suggestion(row: Contention, registered: frozenset[str]) -> Suggestion | None:
    """The request that would solve it, to send as it is; None where a person has to choose first."""
    stored: Mapping[str, Any] = row.suggestion
    if not stored:
        return None
    target = stored["target_owner_id"]
    if target not in registered:
        body: dict[str, Any] = {"owner_id": target}
        return {"kind": "register_owner", "method": "POST", "path": f"{_API}/owners/", "body": body}
    selection = stored["selection"]
    body = {
        "kind": stored["kind"],
        "selection": {
            "provider": selection["provider_id"],
            "record_set_ids": selection["record_set_ids"],
        },
        "target_owner": target,
        "reason": f"{row.get_kind_display()}: {row.name}.",
    }
    path = f"{_API}/transfers/preview/"
    return {"kind": stored["kind"], "method": "POST", "path": path, "body": body}


@describe(
    list="List names where what instances want and what is owned do not agree. By name; under "
    "`name_suffix` by the labels of the name from the right. It is computed about a minute after a change.",
    retrieve="One contention.",
)
class ContentionViews(NounViewSet):
    queryset = list_contention()
    keyset = BY_NAME
    serializer_class = ContentionAnswer
    parameters_class = ContentionParameters

    def filter_queryset(self, queryset: Any) -> Any:
        filters = self.read_filters()
        suffix, owner = filters.pop("name_suffix", None), filters.pop("owner", None)
        rows = queryset.filter(**filters)
        if owner is not None:
            rows = rows.filter(build_owner_query(owner))
        if suffix is None:
            return rows
        self.keyset = _BY_LABELS
        return rows.filter(build_suffix_query(suffix))

    def find_context(self, rows: Sequence[Contention]) -> dict[str, Any]:
        named = {row.suggestion["target_owner_id"] for row in rows if row.suggestion}
        owners = Owner.objects.filter(owner_id__in=named, status=Owner.Status.REGISTERED)
        return {"registered": frozenset(owners.values_list("owner_id", flat=True))}
