"""Held snapshots: what a provider said that was not believed, and a person's word on it."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.body import ReasonBody, StrictSerializer
from registry_app.api.idempotency import idempotent
from registry_app.api.parameters import IDEMPOTENCY_KEY
from registry_app.api.reference import ProviderFilterField, ProviderReference, with_provider
from registry_app.api.row_serializer import RowSerializer
from registry_app.api.view_set import NounViewSet, describe, read_body
from registry_app.models import HeldSnapshot
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot, reject_held_snapshot


class HeldSnapshotParameters(StrictSerializer):
    """Filters of the list."""

    provider = ProviderFilterField(required=False, help_text="Id or name.")
    status = serializers.ChoiceField(choices=HeldSnapshot.Status.choices, required=False)


class HeldSnapshotAnswer(RowSerializer[HeldSnapshot]):
    """A held snapshot: why it is held, and what accepting it would change."""

    provider = ProviderReference()

    class Meta:
        model = HeldSnapshot
        fields = (
            "id",
            "provider",
            "status",
            "body_digest",
            "reasons",
            "difference",
            "created_at",
            "last_seen_at",
            "occurrences",
            "decided_at",
            "decided_by",
        )


class HeldSnapshotDecision(ReasonBody):
    """Why, and of which answer."""

    body_digest = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=64,
        help_text="`body_digest` of what you decide on: refused if a later sync replaced it.",
    )


@describe(
    list="List held snapshots, newest first.",
    retrieve="One held snapshot.",
)
class HeldSnapshotViews(NounViewSet):
    """Held snapshots."""

    # The body of a snapshot may be 32 MiB: it is never read for a list.
    queryset = with_provider(HeldSnapshot.objects.all()).defer("body")
    serializer_class = HeldSnapshotAnswer
    parameters_class = HeldSnapshotParameters
    scopes = {"accept": "admin", "reject": "admin"}

    @extend_schema(parameters=[IDEMPOTENCY_KEY], request=HeldSnapshotDecision, responses=HeldSnapshotAnswer)
    @action(detail=True, methods=["post"])
    @idempotent()
    def accept(self, request: Request, pk: int) -> Response:
        """Accept it: the next sync stores what the provider returns."""
        said = read_body(HeldSnapshotDecision, request)
        accept_held_snapshot(self.actor, pk, reason=said["reason"], seen=said["body_digest"])
        return self.retrieve(request)

    @extend_schema(parameters=[IDEMPOTENCY_KEY], request=HeldSnapshotDecision, responses=HeldSnapshotAnswer)
    @action(detail=True, methods=["post"])
    @idempotent()
    def reject(self, request: Request, pk: int) -> Response:
        """Reject it: the mirror stays as it is."""
        said = read_body(HeldSnapshotDecision, request)
        reject_held_snapshot(self.actor, pk, reason=said["reason"], seen=said["body_digest"])
        return self.retrieve(request)
