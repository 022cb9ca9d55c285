"""Freezes: nothing is sent while one lasts."""

from datetime import datetime
from typing import Any

from django.utils.functional import cached_property
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.fields import ProviderIdField, ProviderReference, RowSerializer, with_provider
from registry_app.api.idempotency import IDEMPOTENCY_KEY, LOCATION, idempotent
from registry_app.api.request import ReasonBody, StrictSerializer, read_body
from registry_app.api.view_set import NounViewSet, describe, post_action
from registry_app.clock import fetch_now
from registry_app.inventory.freeze import delete_freeze, freeze, lift_freeze
from registry_app.models import Freeze
from registry_app.queries.freeze import FreezeState, compute_freeze_state


class FreezeAnswer(RowSerializer[Freeze]):
    """A freeze. Without a provider it is for all of them."""

    provider = ProviderReference(allow_null=True)
    state = serializers.SerializerMethodField(help_text="planned, active or over, at this moment.")

    class Meta:
        model = Freeze
        fields = ("id", "provider", "state", "reason", "starts_at", "ends_at", "created_by", "created_at")

    @extend_schema_field(serializers.ChoiceField(choices=[each.value for each in FreezeState]))
    def get_state(self, row: Freeze) -> str:
        return compute_freeze_state(row, self._now).value

    @cached_property
    def _now(self) -> datetime:
        """One time for all rows of a response, read once."""
        return fetch_now()


class FreezeBody(StrictSerializer):
    """What to freeze, why, and until when."""

    provider = ProviderIdField(allow_null=True, default=None, help_text="Id or name. Nothing: all providers.")
    reason = serializers.CharField(max_length=5000)
    starts_at = serializers.DateTimeField(allow_null=True, default=None, help_text="Nothing: now.")
    ends_at = serializers.DateTimeField(allow_null=True, default=None, help_text="Nothing: until lifted.")


@describe(list="List freezes, newest first.", retrieve="One freeze.")
class FreezeViews(NounViewSet):
    queryset = with_provider(Freeze.objects.all())
    serializer_class = FreezeAnswer
    scopes = {"create": "admin", "lift": "admin", "destroy": "admin"}

    @extend_schema(parameters=[IDEMPOTENCY_KEY, LOCATION], request=FreezeBody, responses={201: FreezeAnswer})
    @idempotent()
    def create(self, request: Request) -> Response:
        """Freeze a provider, or all."""
        values: dict[str, Any] = read_body(FreezeBody, request)
        row = freeze(self.actor, provider_id=values.pop("provider"), **values)
        headers = {"Location": self.reverse_action("detail", [row.pk])}
        return Response(self.show(row), status=201, headers=headers)

    @post_action(ReasonBody, FreezeAnswer)
    def lift(self, body: dict[str, Any], pk: int) -> None:
        """End a freeze now."""
        lift_freeze(self.actor, pk, **body)

    @extend_schema(request=None, responses={204: None})
    def destroy(self, request: Request, pk: int) -> Response:
        """Delete a freeze that has not started. One that has started is lifted instead."""
        delete_freeze(self.actor, pk)
        return Response(status=204)
