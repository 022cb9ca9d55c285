"""What a program says about loops, and what it is told of them."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.api.body import StrictModelSerializer, StrictSerializer
from registry_app.api.reference import (
    OwnerFilterField,
    OwnerIdField,
    ProviderField,
    ProviderFilterField,
    ProviderReference,
    RowIdField,
)
from registry_app.api.row_serializer import RowSerializer
from registry_app.errors import DnsadminError
from registry_app.inventory.declared import MOST_ENDPOINTS
from registry_app.loop.plan_loop import LoopPlan
from registry_app.models import DeclaredEndpoint, Loop, LoopRun, Owner

_MAX_TTL = 2**31 - 1


class LastRunAnswer(RowSerializer[LoopRun]):
    """How the last run ended."""

    id = serializers.UUIDField(source="public_id")

    class Meta:
        model = LoopRun
        fields = ("id", "status", "reason", "started_at", "finished_at")


class LoopAnswer(RowSerializer[Loop]):
    """A loop. `declared_count` endpoints are declared."""

    owner = OwnerIdField(read_only=True)
    provider = ProviderReference()
    managed_types = serializers.ListField(child=serializers.CharField())
    declared_count = serializers.SerializerMethodField()
    last_run = serializers.SerializerMethodField()

    class Meta:
        model = Loop
        fields = (
            "id",
            "owner",
            "provider",
            "policy",
            "managed_types",
            "interval_seconds",
            "is_enabled",
            "declared_at",
            "declared_count",
            "next_run_at",
            "consecutive_failures",
            "last_run",
            "created_at",
            "updated_at",
        )

    def get_declared_count(self, row: Loop) -> int:
        return row.endpoints.count()

    @extend_schema_field(LastRunAnswer(allow_null=True))
    def get_last_run(self, row: Loop) -> Any:
        last = row.runs.order_by("-pk").first()
        return None if last is None else LastRunAnswer(last).data


class LoopBody(StrictModelSerializer):
    """What is said of a loop; the owner by its owner id, the provider by its id or name."""

    owner = OwnerIdField(queryset=Owner.objects.all())
    provider = ProviderField(help_text="Id or name.")
    managed_types = serializers.ListField(
        child=serializers.CharField(max_length=20), required=False, max_length=20
    )

    class Meta:
        model = Loop
        fields = ("owner", "provider", "policy", "managed_types", "interval_seconds", "is_enabled")
        # Whose and where it is once: the mutation says so in its words.
        validators: Sequence[Any] = ()


class LoopParameters(StrictSerializer):
    """Filters of the list."""

    owner = OwnerFilterField(required=False, help_text="Owner id.")
    provider = ProviderFilterField(required=False, help_text="Id or name.")


class DeclaredEndpointAnswer(RowSerializer[DeclaredEndpoint]):
    """One endpoint that a loop is to keep."""

    targets = serializers.ListField(child=serializers.CharField())
    provider_specific = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()), help_text="Pairs of name and value."
    )

    class Meta:
        model = DeclaredEndpoint
        fields = (
            "id",
            "name",
            "record_type",
            "set_identifier",
            "targets",
            "ttl",
            "provider_specific",
            "resource",
        )


class DeclaredEndpointBody(StrictSerializer):
    """An endpoint to keep."""

    name = serializers.CharField(max_length=1024, help_text="Any spelling.")
    record_type = serializers.CharField(max_length=20)
    set_identifier = serializers.CharField(max_length=255, allow_blank=True, default="")
    targets = serializers.ListField(
        child=serializers.CharField(max_length=4096), min_length=1, max_length=100
    )
    ttl = serializers.IntegerField(
        min_value=0, max_value=_MAX_TTL, default=0, help_text="Seconds; 0 is not configured."
    )
    provider_specific = serializers.ListField(
        child=serializers.ListField(
            child=serializers.CharField(max_length=1024, allow_blank=True), min_length=2, max_length=2
        ),
        default=list,
        max_length=50,
        help_text="Pairs of name and value.",
    )
    resource = serializers.CharField(
        max_length=500, allow_blank=True, default="", help_text="The label `resource` of its claim."
    )


class DeclaredEndpointsBody(StrictSerializer):
    """All endpoints to keep."""

    endpoints = serializers.ListField(child=DeclaredEndpointBody(), max_length=MOST_ENDPOINTS)


class ConfirmationBody(StrictSerializer):
    """The text a plan asked for, if it did."""

    confirmation = serializers.CharField(max_length=500, allow_blank=True, default="")


class RunRequestAnswer(serializers.Serializer[Any]):
    """When it runs, and where its runs are."""

    loop = RowIdField()
    next_run_at = serializers.DateTimeField()
    loop_runs = serializers.CharField()


class PlannedEndpointAnswer(serializers.Serializer[Any]):
    """A value of a record set."""

    name = serializers.CharField()
    record_type = serializers.CharField()
    set_identifier = serializers.CharField()
    targets = serializers.ListField(child=serializers.CharField())
    ttl = serializers.IntegerField()
    provider_specific = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))


class PlannedUpdateAnswer(serializers.Serializer[Any]):
    """A record set as it is, and as it is wanted."""

    before = PlannedEndpointAnswer()
    after = PlannedEndpointAnswer()


class LeftAloneAnswer(serializers.Serializer[Any]):
    """A record set that is not touched, and why."""

    name = serializers.CharField()
    record_type = serializers.CharField()
    set_identifier = serializers.CharField()
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
    """A plan in the words of `LoopPlanAnswer`."""
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
