"""Loops: owners that dnsadmin runs itself, what they are to keep, and their runs."""

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.body import EmptyBody, EmptyParameters
from registry_app.api.configuration import ConfigurationViewSet
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
from registry_app.api.parameters import ETAG, IDEMPOTENCY_KEY, IF_MATCH, LOCATION
from registry_app.api.precondition import build_etag, read_expected_version, version_moved
from registry_app.api.reference import with_provider
from registry_app.api.view_set import find_row, read_body, read_parameters
from registry_app.errors import NotAllowed, StateMoved
from registry_app.inventory.declared import (
    declare_endpoint,
    declare_endpoints,
    withdraw_endpoint,
)
from registry_app.inventory.loop import change_loop, delete_loop, register_loop
from registry_app.loop.declared import build_request, find_loop
from registry_app.loop.preview_loop import preview_loop
from registry_app.loop.request_loop_run import request_loop_run
from registry_app.models import DeclaredEndpoint, Loop
from registry_app.queries.loop_access import may_plan_loop


class _DeclaredVersion:
    """The set of declared endpoints as something that has a version."""

    def __init__(self, loop: Loop) -> None:
        self.updated_at = loop.declared_at


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
    answer_shape = LoopAnswer
    body_shape = LoopBody
    address = "loops"

    @extend_schema(parameters=[LoopParameters], responses=LoopAnswer(many=True))
    def list(self, request: Request) -> Response:
        """List loops, newest first."""
        values = read_parameters(LoopParameters, request.query_params)
        return self.answer_page(self.get_queryset().filter(**values), LoopAnswer)

    @extend_schema(parameters=[ETAG], responses=LoopAnswer)
    def retrieve(self, request: Request, pk: int) -> Response:
        """One loop, and its last run."""
        return self.answer_row(pk)

    @extend_schema(parameters=[IDEMPOTENCY_KEY, LOCATION], request=LoopBody, responses={201: LoopAnswer})
    @idempotent()
    def create(self, request: Request) -> Response:
        """Register a loop: from now on dnsadmin runs this owner id at this provider."""
        return self.register_row(request, register_loop)

    @extend_schema(parameters=[IF_MATCH, ETAG], request=LoopBody, responses=LoopAnswer)
    def partial_update(self, request: Request, pk: int) -> Response:
        """Change a loop, or switch it off. Owner and provider stay."""
        return self.change_row(request, pk, change_loop)

    @extend_schema(parameters=[IF_MATCH], request=None, responses={204: None})
    def destroy(self, request: Request, pk: int) -> Response:
        """Delete a loop. What it created stays in the zone. Refused (409, `in_use`) during a run."""
        return self.delete_row(request, pk, delete_loop)

    @extend_schema(parameters=[ETAG], responses=DeclaredEndpointAnswer(many=True))
    def endpoints(self, request: Request, pk: int) -> Response:
        """The declared endpoints by name. The ETag is the version of the whole set."""
        read_parameters(EmptyParameters, request.query_params)
        loop = find_row(self.get_queryset(), pk=pk)
        self.keyset = BY_NAME
        response = self.answer_page(DeclaredEndpoint.objects.filter(loop=loop), DeclaredEndpointAnswer)
        response["ETag"] = build_etag(_DeclaredVersion(loop))
        return response

    @extend_schema(parameters=[IF_MATCH, ETAG], request=DeclaredEndpointsBody, responses=LoopAnswer)
    def replace_endpoints(self, request: Request, pk: int) -> Response:
        """Make these the whole set of declared endpoints. The loop runs soon: what is declared no more is
        deleted by it, as far as its policy lets it."""
        loop = find_row(self.get_queryset(), pk=pk)
        expected = read_expected_version(request, _DeclaredVersion(loop)) or loop.declared_at
        given = read_body(DeclaredEndpointsBody, request)["endpoints"]
        try:
            loop = declare_endpoints(self.actor, pk, given, expected_declared_at=expected)
        except StateMoved as error:
            raise version_moved(error) from error
        response = self.answer_row(pk)
        response["ETag"] = build_etag(_DeclaredVersion(loop))
        return response

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY], request=DeclaredEndpointBody, responses={201: DeclaredEndpointAnswer}
    )
    @idempotent()
    def create_endpoint(self, request: Request, pk: int) -> Response:
        """Declare one endpoint, or give the one of its name, type and set identifier other values."""
        row = declare_endpoint(self.actor, pk, read_body(DeclaredEndpointBody, request))
        return Response(DeclaredEndpointAnswer(row).data, status=201)

    @extend_schema(request=None, responses={204: None})
    def destroy_endpoint(self, request: Request, pk: int, endpoint_pk: int) -> Response:
        """Declare one endpoint no more."""
        withdraw_endpoint(self.actor, pk, endpoint_pk)
        return Response(status=204)

    @extend_schema(request=EmptyBody, responses=LoopPlanAnswer)
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
    @idempotent()
    def run(self, request: Request, pk: int) -> Response:
        """Have it run now. A worker does; its run appears among the loop runs."""
        loop = request_loop_run(self.actor, pk, **read_body(ConfirmationBody, request))
        runs = request.build_absolute_uri(f"/api/v1/loop-runs/?loop={pk}")
        answer = {"loop": pk, "next_run_at": loop.next_run_at, "loop_runs": runs}
        return Response(RunRequestAnswer(answer).data, status=202, headers={"Location": runs})
