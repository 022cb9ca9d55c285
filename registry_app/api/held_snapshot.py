"""Held snapshots: implausible snapshots of providers, and a person's decision on each."""

from typing import Any

from rest_framework import serializers

from registry_app.api.fields import ProviderFilterField, ProviderReference, RowSerializer, with_provider
from registry_app.api.request import ReasonBody, StrictSerializer
from registry_app.api.view_set import NounViewSet, describe, post_action
from registry_app.models import HeldSnapshot
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot, reject_held_snapshot


class HeldSnapshotParameters(StrictSerializer):
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
        source="seen",
        default="",
        allow_blank=True,
        max_length=64,
        help_text="`body_digest` of what you decide on: refused if a later sync replaced it.",
    )


@describe(list="List held snapshots, newest first.", retrieve="One held snapshot.")
class HeldSnapshotViews(NounViewSet):
    # The body of a snapshot may be 32 MiB: it is never read for a list.
    queryset = with_provider(HeldSnapshot.objects.all()).defer("body")
    serializer_class = HeldSnapshotAnswer
    parameters_class = HeldSnapshotParameters
    scopes = {"accept": "admin", "reject": "admin"}

    @post_action(HeldSnapshotDecision, HeldSnapshotAnswer)
    def accept(self, body: dict[str, Any], pk: int) -> None:
        """Accept it: the next sync stores what the provider returns."""
        accept_held_snapshot(self.actor, pk, **body)

    @post_action(HeldSnapshotDecision, HeldSnapshotAnswer)
    def reject(self, body: dict[str, Any], pk: int) -> None:
        """Reject it: the mirror stays as it is."""
        reject_held_snapshot(self.actor, pk, **body)
