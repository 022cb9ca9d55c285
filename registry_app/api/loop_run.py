"""Loop runs: what each planned, sent, and read back."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.api.fields import (
    EndpointKeyAnswer,
    OwnerFilterField,
    OwnerIdField,
    ProviderFilterField,
    ProviderReference,
    RowIdField,
    RowSerializer,
    with_provider,
)
from registry_app.api.request import StrictSerializer
from registry_app.api.view_set import NounViewSet, describe
from registry_app.errors import DnsadminError
from registry_app.loop.plan_loop import LoopPlan
from registry_app.models import LoopRun, LoopStep


class PlannedEndpointAnswer(EndpointKeyAnswer):
    """A value of a record set."""

    targets = serializers.ListField(child=serializers.CharField())
    ttl = serializers.IntegerField()
    provider_specific = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))


class PlannedUpdateAnswer(serializers.Serializer[Any]):
    """A record set as it is, and as it is wanted."""

    before = PlannedEndpointAnswer()
    after = PlannedEndpointAnswer()


class LeftAloneAnswer(EndpointKeyAnswer):
    """A record set that is not touched, and why."""

    reason = serializers.CharField()


class LoopRefusalAnswer(serializers.Serializer[Any]):
    """Why the plan would not be sent."""

    code = serializers.CharField()
    happened = serializers.CharField()
    todo = serializers.CharField()


class LoopPlanAnswer(serializers.Serializer[Any]):
    """What a run would do. With `excess` it needs `confirmation_text` as `confirmation`."""

    creates = PlannedEndpointAnswer(many=True)
    updates = PlannedUpdateAnswer(many=True)
    deletes = PlannedEndpointAnswer(many=True)
    left_alone = LeftAloneAnswer(many=True)
    excess = serializers.CharField()
    confirmation_text = serializers.CharField()
    refusals = LoopRefusalAnswer(many=True)


def build_plan_answer(plan: LoopPlan, refusals: Sequence[DnsadminError]) -> dict[str, Any]:
    """A plan as `LoopPlanAnswer` shows it."""
    changes = plan.changes
    return {
        "creates": [_build_endpoint(each) for each in changes.creates],
        "updates": [
            {"before": _build_endpoint(each.current.endpoint), "after": _build_endpoint(each.wanted)}
            for each in changes.updates
        ],
        "deletes": [_build_endpoint(each.endpoint) for each in changes.deletes],
        "left_alone": [{**_build_key(each.key), "reason": each.reason} for each in changes.left_alone],
        "excess": plan.excess,
        "confirmation_text": plan.confirmation_text,
        "refusals": refusals,
    }


def _build_endpoint(endpoint: Endpoint) -> dict[str, Any]:
    key = EndpointKey(endpoint.dns_name, endpoint.record_type, endpoint.set_identifier)
    return {
        **_build_key(key),
        "targets": endpoint.targets,
        "ttl": endpoint.record_ttl,
        "provider_specific": [[each.name, each.value] for each in endpoint.provider_specific],
    }


def _build_key(key: EndpointKey) -> dict[str, str]:
    return {"name": key.name, "record_type": key.record_type, "set_identifier": key.set_identifier}


class LoopRunParameters(StrictSerializer):
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


class LoopOutcomeAnswer(EndpointKeyAnswer):
    """What became of one record set: `verified`, `not_shown` (as before), `other`, or nothing yet."""

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
    queryset = with_provider(LoopRun.objects.select_related("owner"))
    serializer_class = LoopRunAnswer
    detail_class = LoopRunDetail
    parameters_class = LoopRunParameters
    lookup_field = "public_id"
    lookup_value_converter = "uuid"
