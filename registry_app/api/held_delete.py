"""Held deletes: what instances asked to delete that waits for a person, and the decision on it."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response

from registry_app.api.desired_endpoint import GuardEndpointReference
from registry_app.api.fields import ID_OR_NAME, ProviderReference, RowIdField, RowSerializer, WordsField
from registry_app.api.guard_decision import AskedParameters, AskedViews
from registry_app.api.request import ReasonBody
from registry_app.api.view_set import describe, post_action
from registry_app.guard.decide_held_deletes import (
    MOST_IDS,
    DecidedDeletes,
    HeldSelection,
    keep_held_deletes,
    release_held_deletes,
)
from registry_app.models import GuardEndpoint, HeldDelete
from registry_app.queries.guard_decision import list_held_deletes
from registry_app.queries.keyset import BY_NAME
from registry_app.queries.named_row import find_named_row


class HeldDeleteParameters(AskedParameters):
    status = WordsField(
        choices=tuple(HeldDelete.Status.values),
        required=False,
        source="status__in",
        help_text=f"Comma-separated: {', '.join(HeldDelete.Status.values)}.",
    )


class HeldDeleteAnswer(RowSerializer[HeldDelete]):
    """A name with its set identifier that an instance asked to delete. While it is `held` or `kept`, its
    record sets stay."""

    guard_endpoint = GuardEndpointReference()
    owner = serializers.CharField(source="guard_endpoint.instance.owner.owner_id", help_text="Owner id.")
    provider = ProviderReference(source="guard_endpoint.provider")
    record_types = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = HeldDelete
        fields = (
            "id",
            "guard_endpoint",
            "owner",
            "provider",
            "status",
            "rule",
            "name",
            "set_identifier",
            "record_types",
            "reason",
            "asked_at",
            "last_asked_at",
            "count",
            "decided_by",
            "decided_at",
            "decision_reason",
        )


@extend_schema_field({"oneOf": [*ID_OR_NAME["oneOf"], {"type": "null"}]})
class GuardEndpointField(serializers.RelatedField[GuardEndpoint, int | str, Any]):
    """A guard endpoint in a body, by id or slug."""

    def __init__(self, **options: Any) -> None:
        super().__init__(queryset=GuardEndpoint.objects.all(), **options)

    def to_internal_value(self, data: Any) -> GuardEndpoint:
        is_named = isinstance(data, int | str) and not isinstance(data, bool)
        row = find_named_row(GuardEndpoint.objects.all(), "slug", str(data)) if is_named else None
        if row is None:
            raise serializers.ValidationError("There is no such guard endpoint.")
        return row


class HeldDeletesBody(ReasonBody):
    """Which held deletes, and why: `ids`, or a `guard_endpoint` for all that wait there."""

    ids = serializers.ListField(
        child=RowIdField(), required=False, max_length=MOST_IDS, help_text="Of held deletes."
    )
    guard_endpoint = GuardEndpointField(
        required=False, allow_null=True, help_text="Id or slug: all that wait there."
    )
    name_suffix = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=255,
        help_text="With `guard_endpoint`: only this name and everything below it.",
    )
    expected_count = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=2**31 - 1,
        help_text="How many you saw. Refused if it is another number by now.",
    )


class DecidedDeletesAnswer(serializers.Serializer[DecidedDeletes]):
    """What was decided."""

    status = serializers.ChoiceField(choices=HeldDelete.Status.choices)
    count = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField(), help_text="The first 100 of them.")


@describe(
    list="List held deletes by name, also those that were decided or done.", retrieve="One held delete."
)
class HeldDeleteViews(AskedViews):
    queryset = list_held_deletes()
    keyset = BY_NAME
    serializer_class = HeldDeleteAnswer
    parameters_class = HeldDeleteParameters
    scopes = {"release": "admin", "keep": "admin"}

    @post_action(HeldDeletesBody, DecidedDeletesAnswer, detail=False)
    def release(self, body: dict[str, Any]) -> Response:
        """Let instances delete what is held or kept. Nothing is sent now: an instance deletes it when it asks
        again, at its next sync. All or none: 409 if one of `ids` does not wait any more."""
        return self._decide(release_held_deletes, body)

    @post_action(HeldDeletesBody, DecidedDeletesAnswer, detail=False)
    def keep(self, body: dict[str, Any]) -> Response:
        """Do not let instances delete what is held, or was released and is still there. It stays until it is
        released, or wanted again. All or none: 409 if one of `ids` does not wait any more."""
        return self._decide(keep_held_deletes, body)

    def _decide(self, decide: Callable[..., DecidedDeletes], body: dict[str, Any]) -> Response:
        reason = body.pop("reason")
        return Response(DecidedDeletesAnswer(decide(self.actor, HeldSelection(**body), reason=reason)).data)
