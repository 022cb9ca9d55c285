"""Loop runs: what each planned, sent, and read back."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry_app.api.body import StrictSerializer
from registry_app.api.loop_shapes import LeftAloneAnswer
from registry_app.api.reference import (
    OwnerFilterField,
    OwnerIdField,
    ProviderFilterField,
    ProviderReference,
    RowIdField,
    with_provider,
)
from registry_app.api.row_serializer import RowSerializer
from registry_app.api.view_set import NounViewSet, describe
from registry_app.models import LoopRun, LoopStep


class LoopRunParameters(StrictSerializer):
    """Filters of the list."""

    loop = RowIdField(required=False, source="loop_id")
    owner = OwnerFilterField(required=False, help_text="Owner id.")
    provider = ProviderFilterField(required=False, help_text="Id or name.")
    status = serializers.ChoiceField(choices=LoopRun.Status.choices, required=False)
    trigger = serializers.ChoiceField(choices=LoopRun.Trigger.choices, required=False)


class LoopRunAnswer(RowSerializer[LoopRun]):
    """One run. `loop` is empty where somebody began it by hand from another source."""

    id = serializers.UUIDField(source="public_id")
    loop = RowIdField(source="loop_id", allow_null=True)
    owner = OwnerIdField(read_only=True)
    provider = ProviderReference()

    class Meta:
        model = LoopRun
        fields: tuple[str, ...] = (
            "id",
            "loop",
            "owner",
            "provider",
            "trigger",
            "requested_by",
            "policy",
            "source",
            "status",
            "reason",
            "confirmation_text",
            "planned",
            "created",
            "updated",
            "deleted",
            "not_as_wanted",
            "left_alone_count",
            "started_at",
            "finished_at",
        )


class LoopOutcomeAnswer(serializers.Serializer[Any]):
    """What became of one record set: `verified`, `not_shown` (as before), `other`, or nothing yet."""

    name = serializers.CharField()
    record_type = serializers.CharField()
    set_identifier = serializers.CharField()
    action = serializers.CharField()
    outcome = serializers.CharField()
    reason = serializers.CharField()


class LoopStepAnswer(RowSerializer[LoopStep]):
    """One change set: its exact bytes, what was answered, and what was read back."""

    outcomes = LoopOutcomeAnswer(source="items", many=True)

    class Meta:
        model = LoopStep
        fields = (
            "ordinal",
            "status",
            "change_set",
            "body_digest",
            "stored_at",
            "answered_at",
            "answer",
            "read_back_at",
            "outcomes",
        )


class LoopRunDetail(LoopRunAnswer):
    """A run with what it left alone, the first of it, and its change sets."""

    left_alone = LeftAloneAnswer(many=True)
    steps = serializers.SerializerMethodField()

    class Meta(LoopRunAnswer.Meta):
        fields = (*LoopRunAnswer.Meta.fields, "left_alone", "steps")

    @extend_schema_field(LoopStepAnswer(many=True))
    def get_steps(self, row: LoopRun) -> Any:
        return LoopStepAnswer(row.steps.order_by("ordinal"), many=True).data


@describe(
    list="List runs, newest first.",
    retrieve="One run, with its change sets and what became of each record set.",
)
class LoopRunViews(NounViewSet):
    """Loop runs."""

    queryset = with_provider(LoopRun.objects.select_related("owner"))
    serializer_class = LoopRunAnswer
    detail_class = LoopRunDetail
    parameters_class = LoopRunParameters
    lookup_field = "public_id"
    lookup_value_converter = "uuid"
