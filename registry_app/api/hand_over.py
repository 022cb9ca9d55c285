"""Hand-overs: preview, request, decide, and see how far each name is."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.export import FILES, FORMAT
from registry_app.api.fields import DnsNameField, OwnerFilterField, ProviderFilterField, with_provider
from registry_app.api.hand_over_answer import (
    HandOverAnswer,
    HandOverApprovalBody,
    HandOverBody,
    HandOverDetail,
    HandOverItemAnswer,
    HandOverPreviewAnswer,
    HandOverRequestBody,
    build_hand_over_request,
    build_preview_answer,
)
from registry_app.api.idempotency import IDEMPOTENCY_KEY, LOCATION, idempotent
from registry_app.api.pagination import parse_limit
from registry_app.api.request import (
    ReasonBody,
    StrictSerializer,
    identify_transfer,
    read_body,
    read_parameters,
)
from registry_app.api.view_set import NounViewSet, describe, find_row, post_action
from registry_app.hand_over.decide_hand_over import (
    approve_hand_over,
    cancel_hand_over,
    pause_hand_over,
    reject_hand_over,
    resume_hand_over,
    start_next_wave,
)
from registry_app.hand_over.request_hand_over import preview_hand_over, request_hand_over
from registry_app.models import HandOver, HandOverItem
from registry_app.queries.awaiting_consent import select_awaiting_consent
from registry_app.queries.hand_over import count_items
from registry_app.queries.hand_over_items import fetch_item_facts, list_items
from registry_app.queries.keyset import BY_NAME
from registry_app.queries.readable import readable

_PREVIEW_LIMIT = OpenApiParameter("limit", int, description="Names shown: 50 by default, 1000 at most.")


class HandOverParameters(StrictSerializer):
    status = serializers.ChoiceField(choices=HandOver.Status.choices, required=False)
    provider = ProviderFilterField(required=False, help_text="Id or name.")
    from_owner = OwnerFilterField(required=False, help_text="Owner id.")
    to_owner = OwnerFilterField(required=False, help_text="Owner id.")
    updated_since = serializers.DateTimeField(required=False, source="updated_at__gte")
    waits_for_my_consent = serializers.BooleanField(
        required=False, help_text="`true`: only those that wait for a consent that you may give."
    )


class HandOverItemParameters(StrictSerializer):
    state = serializers.ChoiceField(choices=HandOverItem.State.choices, required=False)
    wave = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    name_suffix = DnsNameField(required=False, help_text="This name and everything below it.")


@describe(
    list="List hand-overs, newest first.",
    retrieve="One hand-over: how far its names are, and what you may do with it now.",
)
class HandOverViews(NounViewSet):
    queryset = with_provider(HandOver.objects.select_related("from_owner", "to_owner"))
    serializer_class = HandOverAnswer
    detail_class = HandOverDetail
    parameters_class = HandOverParameters
    lookup_url_kwarg = "public_id"
    lookup_value_converter = "transfer"
    field_names = {"waves": "waves_by"}
    scopes = {
        "preview": "plan",
        "create": "plan",
        "approve": "approve",
        "reject": "approve",
        "cancel": "plan",
        "pause": "plan",
        # They make names move.
        "resume": "apply",
        "next_wave": "apply",
    }

    def filter_queryset(self, queryset: Any) -> Any:
        filters = self.read_filters()
        is_mine = filters.pop("waits_for_my_consent", False)
        rows = queryset.filter(**filters)
        return select_awaiting_consent(self.actor, rows) if is_mine else rows

    def get_object(self) -> Any:
        return find_row(self.get_queryset(), **identify_transfer(self.kwargs["public_id"]))

    def find_context(self, rows: Sequence[Any]) -> dict[str, Any]:
        return {"counts": count_items(rows)}

    @extend_schema(parameters=[HandOverItemParameters], responses=HandOverItemAnswer(many=True))
    @action(detail=True, methods=["get"])
    def items(self, request: Request, public_id: UUID | int) -> Response:
        """The names of a hand-over, with what the new owner wants there beside what is live."""
        row, rows = self._find_items(request)
        page = self.paginate_queryset(readable(self.actor, rows)) or []
        return self.get_paginated_response(HandOverItemAnswer(fetch_item_facts(row, page), many=True).data)

    @extend_schema(parameters=[FORMAT, HandOverItemParameters], responses=FILES)
    @action(detail=True, methods=["get"], url_path="items/export")
    def export_items(self, request: Request, public_id: UUID | int) -> StreamingHttpResponse:
        """Export the names of a hand-over, with what the new owner wants there beside what is live."""
        row, rows = self._find_items(request)
        complete = partial(fetch_item_facts, row)
        return self.answer_export(
            readable(self.actor, rows), HandOverItemAnswer, "hand-over-items", complete=complete
        )

    def _find_items(self, request: Request) -> tuple[HandOver, QuerySet[HandOverItem]]:
        values = read_parameters(HandOverItemParameters, request.query_params)
        self.keyset = BY_NAME
        row: HandOver = self.get_object()
        return row, list_items(row, **values)

    @extend_schema(parameters=[_PREVIEW_LIMIT], request=HandOverBody, responses=HandOverPreviewAnswer)
    @action(detail=False, methods=["post"])
    def preview(self, request: Request) -> Response:
        """Which names would go in which wave, and what to know before. Writes nothing."""
        limit = parse_limit(request.query_params)
        plan = preview_hand_over(self.actor, build_hand_over_request(read_body(HandOverBody, request)))
        return Response(HandOverPreviewAnswer(build_preview_answer(plan, limit)).data)

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY, LOCATION], request=HandOverRequestBody, responses={201: HandOverDetail}
    )
    @idempotent()
    def create(self, request: Request) -> Response:
        """Request a hand-over, to be approved as the provider's policy asks."""
        values = read_body(HandOverRequestBody, request)
        fingerprint = values.pop("fingerprint")
        row = request_hand_over(self.actor, build_hand_over_request(values), fingerprint=fingerprint)
        headers = {"Location": self.reverse_action("detail", [row.public_id])}
        shown = self.show(find_row(self.get_queryset(), pk=row.pk))
        return Response(shown, status=201, headers=headers)

    @post_action(HandOverApprovalBody, HandOverDetail)
    def approve(self, body: dict[str, Any], public_id: UUID | int) -> None:
        """Approve exactly what you reviewed. Names move from now on, each when the new owner wants it. Under
        the policy `both_sides` this is the consent for one side, and names move after the second one, of
        another person."""
        approve_hand_over(self.actor, public_id, **body)

    @post_action(ReasonBody, HandOverDetail)
    def reject(self, body: dict[str, Any], public_id: UUID | int) -> None:
        """Reject a requested hand-over."""
        reject_hand_over(self.actor, public_id, **body)

    @post_action(ReasonBody, HandOverDetail)
    def cancel(self, body: dict[str, Any], public_id: UUID | int) -> None:
        """End a hand-over. What moved stays moved."""
        cancel_hand_over(self.actor, public_id, **body)

    @post_action(ReasonBody, HandOverDetail)
    def pause(self, body: dict[str, Any], public_id: UUID | int) -> None:
        """Move nothing more until it is resumed. Deletes of the old owner stay held."""
        pause_hand_over(self.actor, public_id, **body)

    @post_action(ReasonBody, HandOverDetail)
    def resume(self, body: dict[str, Any], public_id: UUID | int) -> None:
        """Go on, also with the names that failed."""
        resume_hand_over(self.actor, public_id, **body)

    @post_action(ReasonBody, HandOverDetail, path="next-wave")
    def next_wave(self, body: dict[str, Any], public_id: UUID | int) -> None:
        """Let the names of the next wave move too."""
        start_next_wave(self.actor, public_id, **body)
