"""Loops: owners that dnsadmin runs itself, what they are to keep, and their runs."""

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.body import EmptyBody
from registry_app.api.configuration import ConfigurationViewSet, Mutations
from registry_app.api.idempotency import idempotent
from registry_app.api.loop_shapes import (
    ConfirmationBody,
    DeclaredEndpointAnswer,
    DeclaredEndpointBody,
    DeclaredEndpointsBody,
    LoopAnswer,
    LoopBody,
    LoopParameters,
    LoopPlanAnswer,
    RunRequestAnswer,
    build_plan_answer,
)
from registry_app.api.pagination import BY_NAME, NEWEST_FIRST
from registry_app.api.parameters import ETAG, IDEMPOTENCY_KEY, IF_MATCH
from registry_app.api.precondition import build_etag, read_expected_version, version_moved
from registry_app.api.reference import with_provider
from registry_app.api.view_set import describe, read_body
from registry_app.errors import NotAllowed, StateMoved
from registry_app.inventory.declared import (
    declare_endpoint,
    declare_endpoints,
    withdraw_endpoint,
)
from registry_app.inventory.loop import change_loop, delete_loop, register_loop
from registry_app.loop.loop_request import build_request, find_loop, request_loop_run
from registry_app.loop.run_loop import preview_loop
from registry_app.models import DeclaredEndpoint, Loop
from registry_app.queries.loop import may_plan_loop


class _DeclaredVersion:
    """The set of declared endpoints as something that has a version."""

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
    """Loops."""

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
        response = self.answer_page(DeclaredEndpoint.objects.filter(loop=loop), DeclaredEndpointAnswer)
        response["ETag"] = build_etag(_DeclaredVersion(loop))
        return response

    @extend_schema(parameters=[IF_MATCH, ETAG], request=DeclaredEndpointsBody, responses=LoopAnswer)
    @endpoints.mapping.put
    def replace_endpoints(self, request: Request, pk: int) -> Response:
        """Make these the whole set of declared endpoints. The loop runs soon: what is declared no more is
        deleted by it, as far as its policy lets it."""
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
        """Declare one endpoint no more."""
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

    @extend_schema(parameters=[IDEMPOTENCY_KEY], request=ConfirmationBody, responses={202: RunRequestAnswer})
    @action(detail=True, methods=["post"])
    @idempotent()
    def run(self, request: Request, pk: int) -> Response:
        """Have it run now. A worker does; its run appears among the loop runs."""
        loop = request_loop_run(self.actor, pk, **read_body(ConfirmationBody, request))
        runs = request.build_absolute_uri(f"/api/v1/loop-runs/?loop={pk}")
        answer = {"loop": pk, "next_run_at": loop.next_run_at, "loop_runs": runs}
        return Response(RunRequestAnswer(answer).data, status=202, headers={"Location": runs})
