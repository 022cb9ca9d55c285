"""Audit entries: who did what, when and why. Read only."""

from typing import Any, get_args

from rest_framework import serializers

from registry_app.actor import ActorKind
from registry_app.api.fields import ObjectOrNullField, RowSerializer
from registry_app.api.request import StrictSerializer
from registry_app.api.view_set import NounViewSet, describe
from registry_app.models import AuditEntry
from registry_app.queries.audit_entry import COLUMNS, build_object_query
from registry_app.queries.keyset import Keyset
from registry_app.queries.named_row import build_prefix_query


class AuditEntryParameters(StrictSerializer):
    action = serializers.CharField(required=False, help_text="Such as `transfer.approved`.")
    action_prefix = serializers.CharField(required=False, help_text="Those that begin so: `transfer.`.")
    object = serializers.CharField(required=False, help_text="`provider 3`, or `provider` for all of them.")
    through = serializers.ChoiceField(
        choices=get_args(ActorKind), required=False, source="actor_kind", help_text="What acted."
    )
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

    def filter_queryset(self, queryset: Any) -> Any:
        filters = self.read_filters()
        prefix, about = filters.pop("action_prefix", None), filters.pop("object", None)
        rows = queryset.filter(**filters)
        if prefix is not None:
            rows = rows.filter(build_prefix_query("action", prefix))
        return rows if about is None else rows.filter(build_object_query(about))
