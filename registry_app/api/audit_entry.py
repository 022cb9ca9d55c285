"""Audit entries: who did what, when and why. Read only."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.body import StrictSerializer
from registry_app.api.pagination import Keyset
from registry_app.api.row_serializer import ObjectOrNullField, RowSerializer
from registry_app.api.view_set import NounViewSet, find_row, read_parameters
from registry_app.models import AuditEntry


class AuditEntryParameters(StrictSerializer):
    """Filters of the list."""

    action = serializers.CharField(required=False, help_text="Such as `transfer.approved`.")
    actor = serializers.CharField(required=False, help_text="Exactly this name.", source="actor_name")
    object_type = serializers.CharField(required=False)
    object_id = serializers.CharField(required=False)
    since = serializers.DateTimeField(required=False, source="at__gte")
    until = serializers.DateTimeField(required=False, source="at__lt")


class AuditEntryAnswer(RowSerializer[AuditEntry]):
    """One entry with its place in the chain."""

    before = ObjectOrNullField(read_only=True)
    after = ObjectOrNullField(read_only=True)

    class Meta:
        model = AuditEntry
        fields = (
            "sequence",
            "at",
            "actor_kind",
            "actor_name",
            "action",
            "object_type",
            "object_id",
            "object_label",
            "reason",
            "before",
            "after",
            "request_id",
            "previous_hash",
            "hash",
        )


class AuditEntryViews(NounViewSet):
    """The audit trail."""

    queryset = AuditEntry.objects.all()
    keyset = Keyset(("sequence",), is_descending=True)

    @extend_schema(parameters=[AuditEntryParameters], responses=AuditEntryAnswer(many=True))
    def list(self, request: Request) -> Response:
        """List audit entries, newest first."""
        values = read_parameters(AuditEntryParameters, request.query_params)
        return self.answer_page(self.get_queryset().filter(**values), AuditEntryAnswer)

    @extend_schema(responses=AuditEntryAnswer)
    def retrieve(self, request: Request, sequence: int) -> Response:
        """One audit entry, by its sequence."""
        return Response(AuditEntryAnswer(find_row(self.get_queryset(), sequence=sequence)).data)
