"""Decisions of the guard: what instances asked for that was refused or held, or would be. Read only."""

from typing import Any

from rest_framework import serializers

from registry_app.api.desired_endpoint import GuardEndpointFilterField, GuardEndpointReference
from registry_app.api.fields import (
    DnsNameField,
    OwnerFilterField,
    ProviderFilterField,
    ProviderReference,
    RowSerializer,
)
from registry_app.api.request import StrictSerializer
from registry_app.api.view_set import NounViewSet, describe
from registry_app.models import GuardDecision, GuardRule
from registry_app.queries.guard_decision import list_guard_decisions
from registry_app.queries.guard_endpoint import build_below_query


class AskedParameters(StrictSerializer):
    """What narrows a list of what instances asked for."""

    guard_endpoint = GuardEndpointFilterField(required=False, help_text="Id or slug.")
    owner = OwnerFilterField(required=False, help_text="Owner id.", source="guard_endpoint__instance__owner")
    provider = ProviderFilterField(required=False, help_text="Id or name.", source="guard_endpoint__provider")
    rule = serializers.ChoiceField(choices=GuardRule.choices, required=False)
    name = DnsNameField(required=False, help_text="Exactly this name, in any spelling.")
    name_suffix = DnsNameField(required=False, help_text="This name and everything below it.")


class AskedViews(NounViewSet):
    """A list of what instances asked for, by name with its set identifier."""

    def filter_queryset(self, queryset: Any) -> Any:
        filters = self.read_filters()
        suffix = filters.pop("name_suffix", None)
        rows = queryset.filter(**filters)
        return rows if suffix is None else rows.filter(build_below_query(suffix))


class GuardDecisionParameters(AskedParameters):
    outcome = serializers.ChoiceField(choices=GuardDecision.Outcome.choices, required=False)


class GuardDecisionAnswer(RowSerializer[GuardDecision]):
    """A name with its set identifier that an instance asked to change, and what was decided. The same
    decision again makes no new row: `count` grows, and `last_at` moves."""

    guard_endpoint = GuardEndpointReference()
    owner = serializers.CharField(source="guard_endpoint.instance.owner.owner_id", help_text="Owner id.")
    provider = ProviderReference(source="guard_endpoint.provider")

    class Meta:
        model = GuardDecision
        fields = (
            "id",
            "guard_endpoint",
            "owner",
            "provider",
            "outcome",
            "rule",
            "name",
            "set_identifier",
            "asked",
            "reason",
            "first_at",
            "last_at",
            "count",
        )


@describe(
    list="List what the guard refused or held, or would in the mode `enforce`, newest first. Of each guard "
    "endpoint the latest 10,000 are kept.",
    retrieve="One decision.",
)
class GuardDecisionViews(AskedViews):
    queryset = list_guard_decisions()
    serializer_class = GuardDecisionAnswer
    parameters_class = GuardDecisionParameters
