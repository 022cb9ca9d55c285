"""Providers: webhook servers that we sync. Secrets are write-only."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.export import FILE, answer_file, begin_zone_file
from registry_app.api.fields import ReportAnswer, RowIdField, RowSerializer, SecretField
from registry_app.api.history import HistoryActions
from registry_app.api.request import EmptyBody, ReasonBody, StrictModelSerializer, StrictSerializer, read_body
from registry_app.api.view_set import ConfigurationViewSet, Mutations, describe, find_row, post_action
from registry_app.inventory.approval_change import cancel_looser_approval, confirm_looser_approval
from registry_app.inventory.provider import change_provider, delete_provider, register_provider
from registry_app.inventory.provider_probe import SampleRecord, probe_provider
from registry_app.models import ApprovalChange, Provider
from registry_app.queries.approval_change import PENDING_APPROVAL_CHANGES
from registry_app.queries.provider import list_warnings, providers_for_display
from registry_app.queries.zone_file import MEDIA_TYPE
from registry_app.reconcile.request_sync import request_sync
from registry_app.restore.accept_restored import accept_all_restored, accept_restored

_SETTINGS = (
    "name",
    "url",
    "protocol",
    "description",
    "is_enabled",
    "authentication",
    "username",
    "ca_certificate",
    "client_certificate",
    "interval_seconds",
    "deadline_seconds",
    "max_body_bytes",
    "max_items",
    "allow_empty",
    "hold_missing_percent",
    "hold_owners_changed_percent",
    "write_mode",
    "allowed_properties",
    "batch_size",
    "capitalized_changes",
    "read_back_seconds",
    "approval_policy",
    "max_transfer_count",
    "max_transfer_percent",
)


class ApprovalChangeAnswer(RowSerializer[ApprovalChange]):
    """A looser approval policy that does not apply yet. Without a time, another administrator has to confirm
    it."""

    class Meta:
        model = ApprovalChange
        fields = ("to_policy", "asked_by_name", "asked_at", "effective_at")


class ProviderAnswer(RowSerializer[Provider]):
    """A provider: its settings and how it is; of its secrets only whether they are set."""

    renamed: ClassVar = {"next_visit_at": "next_sync_at", "last_visit_at": "last_sync_at"}

    has_secret = serializers.BooleanField()
    has_url_query = serializers.BooleanField()
    has_client_key = serializers.BooleanField()
    domain_filter = serializers.DictField()
    allowed_properties = serializers.ListField(child=serializers.CharField())
    next_visit_at = serializers.DateTimeField(source="next_sync_at", allow_null=True)
    last_visit_at = serializers.DateTimeField(source="last_sync_at", allow_null=True)
    pending_approval_change = serializers.SerializerMethodField(
        help_text="A looser approval policy that was requested and does not apply yet."
    )

    class Meta:
        model = Provider
        fields = [
            "id",
            *_SETTINGS,
            "pending_approval_change",
            "has_secret",
            "has_url_query",
            "has_client_key",
            "status",
            "next_sync_at",
            "last_sync_at",
            "next_visit_at",
            "last_visit_at",
            "accepted_at",
            "restored_at",
            "record_set_count",
            "claim_count",
            "domain_filter",
            "consecutive_failures",
            "last_error_code",
            "last_error",
            "created_at",
            "updated_at",
        ]

    @extend_schema_field(ApprovalChangeAnswer(allow_null=True))
    def get_pending_approval_change(self, row: Provider) -> Any:
        pending: list[ApprovalChange] = getattr(row, "pending_approval_changes", [])
        return ApprovalChangeAnswer(pending[0]).data if pending else None


class SavedProviderAnswer(ProviderAnswer):
    """A provider that was registered or changed just now."""

    warnings = serializers.ListField(
        child=serializers.CharField(),
        help_text="Warnings, such as that another provider has the same address. Often empty.",
    )

    class Meta(ProviderAnswer.Meta):
        fields = [*ProviderAnswer.Meta.fields, "warnings"]


class ProviderBody(StrictModelSerializer):
    """The settings of a provider."""

    # The inventory checks the URL.
    url = serializers.CharField(max_length=2048)
    secret = SecretField(
        trim_whitespace=False, help_text="Password or token, or env:NAME or file:NAME. Never shown again."
    )
    url_query = SecretField(
        trim_whitespace=False,
        max_length=2048,
        help_text="What follows the ? of the URL; it may be sent in `url` instead. Never shown again.",
    )
    client_key = SecretField(help_text="PEM. Never shown again.")
    allowed_properties = serializers.ListField(
        child=serializers.CharField(max_length=255),
        required=False,
        max_length=100,
        help_text="The provider-specific properties that instances behind the guard may set. Empty: any.",
    )

    class Meta:
        model = Provider
        fields = (*_SETTINGS, "secret", "url_query", "client_key")


class ProviderParameters(StrictSerializer):
    name = serializers.CharField(required=False, help_text="Exactly this name.")
    status = serializers.ChoiceField(choices=Provider.Status.choices, required=False)


class SyncRequestAnswer(serializers.Serializer[Any]):
    """A sync was requested; a worker runs it."""

    renamed: ClassVar = {"next_visit_at": "next_sync_at"}

    provider = RowIdField()
    next_sync_at = serializers.DateTimeField()
    next_visit_at = serializers.DateTimeField(source="next_sync_at")
    sync_runs = serializers.CharField(help_text="Where the sync appears.")


class SampleRecordAnswer(serializers.Serializer[SampleRecord]):
    """One record as the provider wrote it."""

    name = serializers.CharField()
    record_type = serializers.CharField()
    targets = serializers.ListField(child=serializers.CharField())


class ConnectionReportAnswer(ReportAnswer):
    """What the provider answered when it was asked once."""

    domain_filter = serializers.ListField(child=serializers.CharField())
    said_filters = serializers.BooleanField()
    has_protocol_type = serializers.BooleanField()
    record_count = serializers.IntegerField()
    set_aside_count = serializers.IntegerField()
    seconds = serializers.FloatField()
    sample = SampleRecordAnswer(many=True)


class RestoredProviderAnswer(serializers.Serializer[Any]):
    """A provider that still waits after a restore, and why."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    reason = serializers.CharField()


class AcceptedAnswer(serializers.Serializer[Any]):
    """What came of accepting all providers after a restore."""

    accepted = serializers.ListField(child=serializers.CharField(), help_text="Names.")
    waiting = RestoredProviderAnswer(many=True)


@describe(
    list="List providers by name.",
    retrieve="One provider.",
    create="Register a provider. It is synced at once.",
    partial_update="Change a provider. Its credentials change only if sent, and are cleared when its origin "
    "changes. A looser `approval_policy` is only asked for: it is in `pending_approval_change` until another "
    "administrator confirms it, or, where there is no other, for a day.",
    destroy="Delete a provider with its mirror. Refused (409, `in_use`) while something depends on it; "
    "finished transfers keep its name.",
)
@extend_schema_view(
    create=extend_schema(responses={201: SavedProviderAnswer}),
    partial_update=extend_schema(responses=SavedProviderAnswer),
)
class ProviderViews(HistoryActions, ConfigurationViewSet):
    queryset = providers_for_display().prefetch_related(PENDING_APPROVAL_CHANGES)
    serializer_class = ProviderAnswer
    parameters_class = ProviderParameters
    body_class = ProviderBody
    lookup_value_converter = "provider"
    name_field = "name"
    mutations = Mutations(register_provider, change_provider, delete_provider)
    scopes = {
        **ConfigurationViewSet.scopes,
        "syncs": "admin",
        "visits": "admin",
        "accept_restored": "admin",
        "accept_all_restored": "admin",
        "confirm_approval_change": "admin",
        "cancel_approval_change": "admin",
    }

    def answer_saved(self, row_id: int, values: Mapping[str, Any], status: int = 200) -> Response:
        row = find_row(self.get_queryset(), pk=row_id)
        answer = self.answer_row(row, status)
        answer.data["warnings"] = list_warnings(row, values)
        return answer

    @extend_schema(responses={(200, MEDIA_TYPE): FILE})
    @action(detail=True, methods=["get"], url_path="zone-file")
    def zone_file(self, request: Request, pk: str) -> StreamingHttpResponse:
        """The mirror as a zone file (RFC 1035), with its ownership records. What a zone file cannot hold is
        in comments. Its last line begins with `; closing:`: without it the file is not complete."""
        provider = self.get_object()
        pieces = iter(()) if request.method == "HEAD" else begin_zone_file(self.actor, provider)
        return answer_file(pieces, f"{provider.name}.zone", MEDIA_TYPE)

    @post_action(EmptyBody, {202: SyncRequestAnswer})
    def syncs(self, body: dict[str, Any], pk: str) -> Response:
        """Request a sync now."""
        return self._request_sync()

    @post_action(EmptyBody, {202: SyncRequestAnswer}, deprecated=True)
    def visits(self, body: dict[str, Any], pk: str) -> Response:
        """The old path of `syncs`."""
        return self._request_sync()

    def _request_sync(self) -> Response:
        provider_id = self.get_object().pk
        request_sync(self.actor, provider_id)
        runs = self.request.build_absolute_uri(f"/api/v1/sync-runs/?provider={provider_id}")
        next_sync_at = self.get_object().next_sync_at
        answer = {"provider": provider_id, "next_sync_at": next_sync_at, "sync_runs": runs}
        return Response(SyncRequestAnswer(answer).data, status=202, headers={"Location": runs})

    @post_action(ReasonBody, ProviderAnswer, path="accept-restored")
    def accept_restored(self, body: dict[str, Any], pk: str) -> None:
        """Accept the snapshot the provider gave since a restore: it may be sent to again."""
        accept_restored(self.actor, self.get_object().pk, **body)

    @post_action(ReasonBody, AcceptedAnswer, detail=False, path="accept-all-restored")
    def accept_all_restored(self, body: dict[str, Any]) -> Response:
        """Accept every provider that gave a snapshot since a restore, in one act."""
        accepted, left = accept_all_restored(self.actor, **body)
        waiting = [{"id": each.pk, "name": each.name, "reason": reason} for each, reason in left]
        answer = {"accepted": [each.name for each in accepted], "waiting": waiting}
        return Response(AcceptedAnswer(answer).data)

    @extend_schema(request=EmptyBody, responses=ConnectionReportAnswer)
    @action(detail=True, methods=["post"], url_path="connection-tests")
    def connection_tests(self, request: Request, pk: str) -> Response:
        """Negotiate with the provider and read its records once. Changes nothing."""
        read_body(EmptyBody, request)
        return Response(ConnectionReportAnswer(probe_provider(self.actor, self.get_object().pk)).data)

    @post_action(EmptyBody, ProviderAnswer, path="approval-change/confirm")
    def confirm_approval_change(self, body: dict[str, Any], pk: str) -> None:
        """Confirm a looser approval policy that another administrator asked for."""
        confirm_looser_approval(self.actor, self.get_object().pk)

    @post_action(EmptyBody, ProviderAnswer, path="approval-change/cancel")
    def cancel_approval_change(self, body: dict[str, Any], pk: str) -> None:
        """Cancel a looser approval policy that does not apply yet."""
        cancel_looser_approval(self.actor, self.get_object().pk)
