"""Findings: things a person should know."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.body import StrictSerializer
from registry_app.api.idempotency import idempotent
from registry_app.api.parameters import IDEMPOTENCY_KEY
from registry_app.api.reference import (
    DnsNameField,
    OwnerFilterField,
    OwnerIdField,
    ProviderFilterField,
    ProviderReference,
    with_provider,
)
from registry_app.api.row_serializer import RowSerializer
from registry_app.api.suggestion import Suggestion, SuggestionAnswer, build_suggestion, fetch_named
from registry_app.api.view_set import NounViewSet, describe, read_body
from registry_app.models import Finding
from registry_app.reconcile.acknowledge_finding import acknowledge_finding

_SEVERITIES = {severity.label.lower(): severity.value for severity in Finding.Severity}


class FindingParameters(StrictSerializer):
    """Filters of the list."""

    kind = serializers.ChoiceField(choices=Finding.Kind.choices, required=False)
    severity = serializers.ChoiceField(
        choices=[(name, name) for name in _SEVERITIES], required=False, help_text="At least this severe."
    )
    state = serializers.ChoiceField(choices=Finding.State.choices, required=False)
    provider = ProviderFilterField(required=False, help_text="Id or name.")
    owner = OwnerFilterField(required=False, help_text="Owner id.")
    name = DnsNameField(required=False, help_text="Exactly this name, in any spelling.")


class FindingAnswer(RowSerializer[Finding]):
    """A finding and, where there is one, the request that would settle it."""

    provider = ProviderReference(allow_null=True)
    owner = OwnerIdField(read_only=True, allow_null=True)
    severity = serializers.SerializerMethodField()
    suggestion = serializers.SerializerMethodField()
    details = serializers.DictField(read_only=True)

    class Meta:
        model = Finding
        fields = (
            "id",
            "kind",
            "severity",
            "state",
            "provider",
            "owner",
            "name",
            "record_type",
            "set_identifier",
            "explanation",
            "suggestion",
            "details",
            "first_seen_at",
            "last_seen_at",
            "occurrences",
            "resolved_at",
            "acknowledged_by",
            "muted_until",
        )

    def get_severity(self, row: Finding) -> str:
        return row.get_severity_display().lower()

    @extend_schema_field(SuggestionAnswer(allow_null=True))
    def get_suggestion(self, row: Finding) -> Suggestion | None:
        return build_suggestion(row, self.context["named"])


class AcknowledgementBody(StrictSerializer):
    """Seen, and why it may stay; until when it is to be quiet."""

    reason = serializers.CharField(allow_blank=True, default="", max_length=5000)
    muted_until = serializers.DateTimeField(required=False, allow_null=True, default=None)


@describe(
    list="List findings, newest first.",
    retrieve="One finding.",
)
class FindingViews(NounViewSet):
    """Findings."""

    queryset = with_provider(Finding.objects.select_related("owner"))
    serializer_class = FindingAnswer
    parameters_class = FindingParameters
    scopes = {"acknowledge": "admin"}

    def read_filters(self) -> dict[str, Any]:
        filters = super().read_filters()
        if severity := filters.pop("severity", None):
            filters["severity__gte"] = _SEVERITIES[severity]
        return filters

    def find_context(self, rows: Sequence[Finding]) -> dict[str, Any]:
        return {"named": fetch_named(rows)}

    @extend_schema(parameters=[IDEMPOTENCY_KEY], request=AcknowledgementBody, responses=FindingAnswer)
    @action(detail=True, methods=["post"])
    @idempotent()
    def acknowledge(self, request: Request, pk: int) -> Response:
        """Acknowledge a finding, or mute it for a time."""
        body = read_body(AcknowledgementBody, request)
        acknowledge_finding(self.actor, pk, muted_until=body["muted_until"], reason=body["reason"])
        return self.retrieve(request)
