"""Desired endpoints: what instances want, as they posted it last. Read only."""

from datetime import datetime
from typing import Any

from django.utils.functional import cached_property
from rest_framework import serializers

from registry_app.api.fields import (
    DnsNameField,
    OwnerFilterField,
    ProviderFilterField,
    ProviderReference,
    RowSerializer,
    WordsField,
)
from registry_app.api.request import StrictSerializer
from registry_app.api.view_set import NounViewSet, describe
from registry_app.clock import fetch_now
from registry_app.models import DesiredEndpoint, GuardEndpoint
from registry_app.queries.guard_endpoint import (
    find_desired_set,
    is_stale,
    list_desired_endpoints,
)
from registry_app.queries.keyset import BY_NAME
from registry_app.queries.named_row import build_suffix_query, find_named_row


class GuardEndpointFilterField(serializers.CharField):
    """A guard endpoint in a filter, by id or slug."""

    def to_internal_value(self, data: Any) -> GuardEndpoint:  # type: ignore[override]  # the stubs fix it to str
        text = super().to_internal_value(data)
        row = find_named_row(GuardEndpoint.objects.all(), "slug", text)
        if row is None:
            raise serializers.ValidationError("There is no such guard endpoint.")
        return row


class DesiredEndpointParameters(StrictSerializer):
    guard_endpoint = GuardEndpointFilterField(required=False, help_text="Id or slug.")
    owner = OwnerFilterField(required=False, help_text="Owner id.", source="guard_endpoint__instance__owner")
    provider = ProviderFilterField(required=False, help_text="Id or name.", source="guard_endpoint__provider")
    type = WordsField(required=False, help_text="Record types, comma-separated: `A,AAAA`.")
    name = DnsNameField(required=False, help_text="Exactly this name, in any spelling.")
    name_suffix = DnsNameField(required=False, help_text="This name and everything below it.")


class GuardEndpointReference(RowSerializer[GuardEndpoint]):
    """A guard endpoint, named."""

    class Meta:
        model = GuardEndpoint
        fields = ("id", "slug")


class DesiredEndpointAnswer(RowSerializer[DesiredEndpoint]):
    """An endpoint that an instance wants, under its canonical name, and since when it is wanted so."""

    guard_endpoint = GuardEndpointReference()
    owner = serializers.CharField(source="guard_endpoint.instance.owner.owner_id", help_text="Owner id.")
    provider = ProviderReference(source="guard_endpoint.provider")
    targets = serializers.ListField(child=serializers.CharField())
    provider_specific = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()), help_text="Pairs of name and value."
    )
    is_stale = serializers.SerializerMethodField(
        help_text="The instance did not post for three of its intervals, so it may want something else now."
    )

    class Meta:
        model = DesiredEndpoint
        fields = (
            "id",
            "guard_endpoint",
            "owner",
            "provider",
            "name",
            "record_type",
            "set_identifier",
            "targets",
            "ttl",
            "provider_specific",
            "resource",
            "first_seen_at",
            "changed_at",
            "is_stale",
        )

    def get_is_stale(self, row: DesiredEndpoint) -> bool:
        posted = find_desired_set(row.guard_endpoint)
        return posted is None or is_stale(posted, self._now)

    @cached_property
    def _now(self) -> datetime:
        """One time for all rows of a response, read once."""
        return fetch_now()


@describe(
    list="List what instances want, by name. It may lie outside an instance's own domain filter and managed "
    "types: ExternalDNS applies them later.",
    retrieve="One desired endpoint.",
)
class DesiredEndpointViews(NounViewSet):
    queryset = list_desired_endpoints()
    keyset = BY_NAME
    serializer_class = DesiredEndpointAnswer
    parameters_class = DesiredEndpointParameters

    def filter_queryset(self, queryset: Any) -> Any:
        filters = self.read_filters()
        suffix, types = filters.pop("name_suffix", None), filters.pop("type", None)
        rows = queryset.filter(**filters)
        if types is not None:
            rows = rows.filter(record_type__in=[word.upper() for word in types])
        return rows if suffix is None else rows.filter(build_suffix_query(suffix))
