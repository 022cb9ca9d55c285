"""Loops: owners that dnsadmin runs itself, and the endpoints that they declare."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.export import FILES, FORMAT
from registry_app.api.fields import (
    OwnerFilterField,
    OwnerIdField,
    ProviderField,
    ProviderFilterField,
    ProviderReference,
    RowIdField,
    RowSerializer,
    with_provider,
)
from registry_app.api.idempotency import IDEMPOTENCY_KEY, idempotent
from registry_app.api.loop_run import LoopPlanAnswer, build_plan_answer
from registry_app.api.precondition import ETAG, IF_MATCH, build_etag, read_expected_version, version_moved
from registry_app.api.request import EmptyBody, StrictModelSerializer, StrictSerializer, read_body
from registry_app.api.view_set import ConfigurationViewSet, Mutations, describe, post_action
from registry_app.errors import NotAllowed, StateMoved
from registry_app.inventory.declared import (
    MOST_ENDPOINTS,
    declare_endpoint,
    declare_endpoints,
    withdraw_endpoint,
)
from registry_app.inventory.loop import change_loop, delete_loop, register_loop
from registry_app.loop.loop_request import build_request, find_loop, request_loop_run
from registry_app.loop.run_loop import preview_loop
from registry_app.models import DeclaredEndpoint, Loop, LoopRun, Owner
from registry_app.queries.keyset import BY_NAME, NEWEST_FIRST
from registry_app.queries.loop import may_plan_loop
from registry_app.queries.readable import readable

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
    declared_count = serializers.IntegerField(source="endpoints.count", read_only=True)
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

    @extend_schema_field(LastRunAnswer(allow_null=True))
    def get_last_run(self, row: Loop) -> Any:
        last = row.runs.order_by("-pk").first()
        return None if last is None else LastRunAnswer(last).data


class LoopBody(StrictModelSerializer):
    """The fields of a loop; the owner by its owner id, the provider by its id or name."""

    owner = OwnerIdField(queryset=Owner.objects.all())
    provider = ProviderField(help_text="Id or name.")
    managed_types = serializers.ListField(
        child=serializers.CharField(max_length=20), required=False, max_length=20
    )

    class Meta:
        model = Loop
        fields = ("owner", "provider", "policy", "managed_types", "interval_seconds", "is_enabled")
        # The mutation refuses a second loop of an owner at a provider.
        validators: Sequence[Any] = ()


class LoopParameters(StrictSerializer):
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
    """The text that the plan asked for, if any."""

    confirmation = serializers.CharField(max_length=500, allow_blank=True, default="")


class RunRequestAnswer(serializers.Serializer[Any]):
    """When it runs, and where its runs are."""

    loop = RowIdField()
    next_run_at = serializers.DateTimeField()
    loop_runs = serializers.CharField()


class _DeclaredVersion:
    """The version of the set of declared endpoints."""

    def __init__(self, loop: Loop) -> None:
        self.updated_at = loop.declared_at


@describe(
    list="List loops, newest first.",
    retrieve="One loop, and its last run.",
    create="Register a loop: from now on dnsadmin runs this owner id at this provider.",
    partial_update="Change a loop, or switch it off. Owner and provider stay.",
    destroy="Delete a loop. What it created stays in the zone. Refused (409, `in_use`) during a run.",
)
class LoopViews(ConfigurationViewSet):
    queryset = with_provider(Loop.objects.select_related("owner"))
    keyset = NEWEST_FIRST
    scopes = {
        **ConfigurationViewSet.scopes,
        "replace_endpoints": "apply",
        "create_endpoint": "apply",
        "destroy_endpoint": "apply",
        "plan": "plan",
        "run": "apply",
    }
    contacting = frozenset({"plan"})
    serializer_class = LoopAnswer
    parameters_class = LoopParameters
    body_class = LoopBody
    mutations = Mutations(register_loop, change_loop, delete_loop)

    @extend_schema(parameters=[ETAG], responses=DeclaredEndpointAnswer(many=True))
    @action(detail=True, methods=["get"])
    def endpoints(self, request: Request, pk: int) -> Response:
        """The declared endpoints by name. The ETag is the version of the whole set."""
        loop = self.get_object()
        self.keyset = BY_NAME
        rows = readable(self.actor, DeclaredEndpoint.objects.filter(loop=loop))
        response = self.answer_page(rows, DeclaredEndpointAnswer)
        response["ETag"] = build_etag(_DeclaredVersion(loop))
        return response

    @extend_schema(parameters=[FORMAT], responses=FILES)
    @action(detail=True, methods=["get"], url_path="endpoints/export")
    def export_endpoints(self, request: Request, pk: int) -> StreamingHttpResponse:
        """Export the declared endpoints by name."""
        self.keyset = BY_NAME
        rows = readable(self.actor, DeclaredEndpoint.objects.filter(loop=self.get_object()))
        return self.answer_export(rows, DeclaredEndpointAnswer, "declared-endpoints")

    @extend_schema(parameters=[IF_MATCH, ETAG], request=DeclaredEndpointsBody, responses=LoopAnswer)
    @endpoints.mapping.put
    def replace_endpoints(self, request: Request, pk: int) -> Response:
        """Make these the whole set of declared endpoints. The loop runs soon and deletes what is no longer
        declared, if its policy allows it."""
        loop = self.get_object()
        expected = read_expected_version(request, _DeclaredVersion(loop)) or loop.declared_at
        given = read_body(DeclaredEndpointsBody, request)["endpoints"]
        try:
            loop = declare_endpoints(self.actor, pk, given, expected_declared_at=expected)
        except StateMoved as error:
            raise version_moved(error) from error
        response = self.answer_row(self.get_object())
        response["ETag"] = build_etag(_DeclaredVersion(loop))
        return response

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY], request=DeclaredEndpointBody, responses={201: DeclaredEndpointAnswer}
    )
    @endpoints.mapping.post
    @idempotent()
    def create_endpoint(self, request: Request, pk: int) -> Response:
        """Declare one endpoint, or give the one of its name, type and set identifier other values."""
        row = declare_endpoint(self.actor, pk, read_body(DeclaredEndpointBody, request))
        return Response(DeclaredEndpointAnswer(row).data, status=201)

    @extend_schema(request=None, responses={204: None})
    @action(detail=True, methods=["delete"], url_path="endpoints/<int:endpoint_pk>")
    def destroy_endpoint(self, request: Request, pk: int, endpoint_pk: int) -> Response:
        """Withdraw one declared endpoint."""
        withdraw_endpoint(self.actor, pk, endpoint_pk)
        return Response(status=204)

    @extend_schema(request=EmptyBody, responses=LoopPlanAnswer)
    @action(detail=True, methods=["post"])
    def plan(self, request: Request, pk: int) -> Response:
        """What a run would do now, from a fresh reading of the provider. Writes nothing."""
        read_body(EmptyBody, request)
        loop = find_loop(pk)
        if not may_plan_loop(self.actor, loop.provider, loop.owner):
            raise NotAllowed(
                f"{self.actor.name} may not plan for {loop.owner} at {loop.provider}.",
                todo="Ask an administrator for a grant, or somebody who has one.",
            )
        plan, refusals = preview_loop(replace(build_request(loop), on_behalf_of=self.actor))
        shown: Any = LoopPlanAnswer(build_plan_answer(plan, refusals)).data
        return Response(shown)

    @post_action(ConfirmationBody, {202: RunRequestAnswer})
    def run(self, body: dict[str, Any], pk: int) -> Response:
        """Have it run now. A worker does; its run appears among the loop runs."""
        loop = request_loop_run(self.actor, pk, **body)
        runs = self.request.build_absolute_uri(f"/api/v1/loop-runs/?loop={pk}")
        answer = {"loop": pk, "next_run_at": loop.next_run_at, "loop_runs": runs}
        return Response(RunRequestAnswer(answer).data, status=202, headers={"Location": runs})
