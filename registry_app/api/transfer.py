"""Transfers: preview, request, approve, undo and decide."""

from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.export import FILES, FORMAT
from registry_app.api.fields import (
    OwnerFilterField,
    ProviderFilterField,
    SearchField,
    with_provider,
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
from registry_app.api.transfer_answer import (
    RequestedAnswer,
    TransferAnswer,
    TransferDetail,
    TransferItemAnswer,
    TransferStepAnswer,
)
from registry_app.api.transfer_request import (
    AddedAnswer,
    ApprovalBody,
    DecisionBody,
    PreviewAnswer,
    ProviderPlanAnswer,
    TransferBody,
    UndoBody,
    UndoPreviewBody,
    build_transfer_request,
)
from registry_app.api.view_set import NounViewSet, describe, find_row, post_action
from registry_app.models import RegistryProfile, Transfer, TransferItem, TransferStep
from registry_app.queries.awaiting_consent import select_awaiting_consent
from registry_app.queries.keyset import Keyset
from registry_app.queries.readable import readable
from registry_app.queries.search import search_transfers
from registry_app.queries.transfer import build_number_query, find_added
from registry_app.transfer.decisions import (
    approve_transfer,
    cancel_transfer,
    decide_transfer,
    reject_transfer,
)
from registry_app.transfer.plan.preview import preview_transfer
from registry_app.transfer.request_transfer import UndoRequest, preview_undo, request_transfer, request_undo

# A change set may be megabytes.
_STEPS_AT_ONCE = 10
_PREVIEW_LIMIT = OpenApiParameter(
    "limit", int, description="Items shown of each plan: 50 by default, 1000 at most."
)


class TransferParameters(StrictSerializer):
    transfer = serializers.CharField(required=False, help_text="A number (`12`, `#12`) or an id.")
    status = serializers.ChoiceField(choices=Transfer.Status.choices, required=False)
    kind = serializers.ChoiceField(choices=Transfer.Kind.choices, required=False)
    provider = ProviderFilterField(required=False, help_text="Id or name.")
    source_owner = OwnerFilterField(required=False, help_text="Owner id.")
    target_owner = OwnerFilterField(required=False, help_text="Owner id.")
    group = serializers.UUIDField(required=False, help_text="All transfers of one request.")
    updated_since = serializers.DateTimeField(required=False, source="updated_at__gte")
    q = SearchField("reason, ticket, owner ids or who requested it, or a whole name, a number or an id")
    waits_for_my_consent = serializers.BooleanField(
        required=False, help_text="`true`: only those that wait for a consent that you may give."
    )


class TransferItemParameters(StrictSerializer):
    status = serializers.ChoiceField(choices=TransferItem.Status.choices, required=False)


@describe(
    list="List transfers, newest first.",
    retrieve="One transfer: its progress, and what you may do with it now.",
)
class TransferViews(NounViewSet):
    queryset = with_provider(Transfer.objects.select_related("source_owner", "target_owner", "undo_of"))
    serializer_class = TransferAnswer
    detail_class = TransferDetail
    parameters_class = TransferParameters
    lookup_url_kwarg = "public_id"
    lookup_value_converter = "transfer"
    field_names = {
        "target_owner_id": "target_owner",
        **{name: f"selection.{name}" for name in ("record_set_ids", "claim_ids", "names")},
    }
    scopes = {
        "preview": "plan",
        "preview_undo": "plan",
        "create": "plan",
        "approve": "approve",
        "reject": "approve",
        "cancel": "plan",
        "undo": "plan",
        "decide": "apply",
    }

    def filter_queryset(self, queryset: Any) -> Any:
        filters = self.read_filters()
        named, text = filters.pop("transfer", None), filters.pop("q", "")
        is_mine = filters.pop("waits_for_my_consent", False)
        rows = queryset.filter(**filters)
        rows = search_transfers(rows, text) if text else rows
        rows = select_awaiting_consent(self.actor, rows) if is_mine else rows
        return rows if named is None else rows.filter(build_number_query(named))

    def get_object(self) -> Any:
        return find_row(self.get_queryset(), **identify_transfer(self.kwargs["public_id"]))

    @extend_schema(parameters=[TransferItemParameters], responses=TransferItemAnswer(many=True))
    @action(detail=True, methods=["get"])
    def items(self, request: Request, public_id: UUID | int) -> Response:
        """The record sets of a transfer, in order."""
        return self.answer_page(readable(self.actor, self._find_items(request)), TransferItemAnswer)

    @extend_schema(parameters=[FORMAT, TransferItemParameters], responses=FILES)
    @action(detail=True, methods=["get"], url_path="items/export")
    def export_items(self, request: Request, public_id: UUID | int) -> StreamingHttpResponse:
        """Export the record sets of a transfer, in order."""
        rows = readable(self.actor, self._find_items(request))
        return self.answer_export(rows, TransferItemAnswer, "transfer-items")

    def _find_items(self, request: Request) -> QuerySet[TransferItem]:
        values = read_parameters(TransferItemParameters, request.query_params)
        self.keyset = Keyset(("ordinal",))
        return TransferItem.objects.filter(transfer=self.get_object(), **values)

    @extend_schema(responses=TransferStepAnswer(many=True))
    @action(detail=True, methods=["get"])
    def steps(self, request: Request, public_id: UUID | int) -> Response:
        """The change sets of a transfer, newest first."""
        return self.answer_page(readable(self.actor, self._find_steps()), TransferStepAnswer)

    @extend_schema(parameters=[FORMAT], responses=FILES)
    @action(detail=True, methods=["get"], url_path="steps/export")
    def export_steps(self, request: Request, public_id: UUID | int) -> StreamingHttpResponse:
        """Export the change sets of a transfer, newest first."""
        rows = readable(self.actor, self._find_steps())
        return self.answer_export(rows, TransferStepAnswer, "transfer-steps", size=_STEPS_AT_ONCE)

    def _find_steps(self) -> QuerySet[TransferStep]:
        profile = Prefetch("registry_profile", RegistryProfile.objects.only("id", "name"))
        return TransferStep.objects.filter(transfer=self.get_object()).prefetch_related(profile)

    @extend_schema(parameters=[_PREVIEW_LIMIT], request=TransferBody, responses=PreviewAnswer)
    @action(detail=False, methods=["post"])
    def preview(self, request: Request) -> Response:
        """What a request would do, per record set, and what speaks against it. Writes nothing."""
        limit = parse_limit(request.query_params)
        asked = build_transfer_request(read_body(TransferBody, request))
        plans = preview_transfer(self.actor, asked)
        return Response({"plans": ProviderPlanAnswer(plans, many=True, context={"limit": limit}).data})

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY, LOCATION], request=TransferBody, responses={201: RequestedAnswer}
    )
    @idempotent()
    def create(self, request: Request) -> Response:
        """Request a transfer: one for each provider, to be approved as the provider's policy asks."""
        asked = build_transfer_request(read_body(TransferBody, request))
        transfers = request_transfer(self.actor, asked)
        group = transfers[0].group
        where = f"{transfers[0].public_id}/" if len(transfers) == 1 else f"?group={group}"
        count, added = find_added(transfers)
        answer = {
            "group": str(group),
            "transfers": TransferAnswer(transfers, many=True).data,
            "added_count": count,
            "added": AddedAnswer(added, many=True).data,
        }
        location = request.build_absolute_uri(f"/api/v1/transfers/{where}")
        return Response(answer, status=201, headers={"Location": location})

    @post_action(ApprovalBody, TransferDetail)
    def approve(self, body: dict[str, Any], public_id: UUID | int) -> None:
        """Approve exactly the plan you reviewed. A worker sends it. Under the policy `both_sides` this is the
        consent for one side, and a worker sends it after the second one, of another person."""
        approve_transfer(self.actor, public_id, **body)

    @post_action(ReasonBody, TransferDetail)
    def reject(self, body: dict[str, Any], public_id: UUID | int) -> None:
        """Reject a requested transfer."""
        reject_transfer(self.actor, public_id, **body)

    @post_action(ReasonBody, TransferDetail)
    def cancel(self, body: dict[str, Any], public_id: UUID | int) -> None:
        """Cancel a transfer of which nothing was sent."""
        cancel_transfer(self.actor, public_id, **body)

    @extend_schema(parameters=[_PREVIEW_LIMIT], request=UndoPreviewBody, responses=PreviewAnswer)
    @action(detail=True, methods=["post"], url_path="undo/preview")
    def preview_undo(self, request: Request, public_id: UUID | int) -> Response:
        """What an undo would do, per record set, and what speaks against it. Writes nothing."""
        limit = parse_limit(request.query_params)
        plan = preview_undo(self.actor, public_id, **read_body(UndoPreviewBody, request))
        return Response({"plans": ProviderPlanAnswer([plan], many=True, context={"limit": limit}).data})

    @post_action(UndoBody, {201: TransferDetail}, headers=[LOCATION])
    def undo(self, body: dict[str, Any], public_id: UUID | int) -> Response:
        """Request the undo of a transfer: a transfer of its own, reviewed like any other."""
        undo = request_undo(self.actor, public_id, UndoRequest(**body))
        row = find_row(self.get_queryset(), pk=undo.pk)
        headers = {"Location": self.reverse_action("detail", [row.public_id])}
        return Response(self.show(row), status=201, headers=headers)

    @post_action(DecisionBody, TransferDetail)
    def decide(self, body: dict[str, Any], public_id: UUID | int) -> None:
        """Decide on a transfer that needs an operator. `allowed_actions` gives the consequence of each
        decision."""
        decide_transfer(self.actor, public_id, **body)
