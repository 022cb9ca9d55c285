"""Audit entries: who did what, when and why. Read only."""

from rest_framework import serializers

from registry_app.api.fields import ObjectOrNullField, RowSerializer
from registry_app.api.request import StrictSerializer
from registry_app.api.view_set import NounViewSet, describe
from registry_app.models import AuditEntry
from registry_app.queries.audit_entry import COLUMNS
from registry_app.queries.keyset import Keyset


class AuditEntryParameters(StrictSerializer):
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
        fields = COLUMNS


@describe(list="List audit entries, newest first.", retrieve="One audit entry, by its sequence.")
class AuditEntryViews(NounViewSet):
    queryset = AuditEntry.objects.all()
    serializer_class = AuditEntryAnswer
    parameters_class = AuditEntryParameters
    keyset = Keyset(("sequence",), is_descending=True)
    lookup_field = "sequence"
