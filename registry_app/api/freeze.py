"""Freezes and pins: nothing is sent while one lasts."""

from datetime import datetime
from typing import Any

from django.utils.functional import cached_property
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.fields import (
    OwnerFilterField,
    OwnerIdField,
    ProviderFilterField,
    ProviderIdField,
    ProviderReference,
    RowSerializer,
    with_provider,
)
from registry_app.api.idempotency import IDEMPOTENCY_KEY, LOCATION, idempotent
from registry_app.api.request import ReasonBody, StrictSerializer, read_body
from registry_app.api.view_set import NounViewSet, describe, post_action
from registry_app.clock import fetch_now
from registry_app.inventory.freeze import MOST_NAMES, delete_freeze, freeze, lift_freeze
from registry_app.models import Freeze, Owner
from registry_app.queries.freeze import FreezeState, compute_freeze_state, compute_next_change
from registry_app.queries.weekly_window import MOST_MINUTES, WEEKDAYS

_LONGEST_NAME = 254


@extend_schema_field({"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"})
class ClockField(serializers.TimeField):
    """A time of day, to the minute."""

    def __init__(self, **options: Any) -> None:
        super().__init__(format="%H:%M", input_formats=["%H:%M"], **options)


class WeeklyWindow(StrictSerializer):
    """A window that comes back every week, by the clocks of its time zone."""

    in_force = serializers.ChoiceField(
        choices=Freeze.WindowUse.choices,
        help_text="Whether the freeze is in force inside or outside the window.",
    )
    weekdays = serializers.ListField(
        child=serializers.ChoiceField(choices=WEEKDAYS),
        min_length=1,
        max_length=len(WEEKDAYS),
        help_text="On which it begins.",
    )
    start = ClockField(help_text="When it begins, such as 16:00.")
    minutes = serializers.IntegerField(
        min_value=1, max_value=MOST_MINUTES, help_text="How long it lasts, as clocks there show."
    )
    time_zone = serializers.CharField(max_length=64, help_text="Such as Europe/Berlin, or UTC.")


class FreezeAnswer(RowSerializer[Freeze]):
    """A freeze or a pin, of what matches all that it names. Without a provider it is for all of them."""

    provider = ProviderReference(allow_null=True)
    owner = OwnerIdField(read_only=True, allow_null=True)
    names = serializers.ListField(child=serializers.CharField())
    name_suffixes = serializers.ListField(child=serializers.CharField())
    window = serializers.SerializerMethodField(help_text="Null: always, from its start to its end.")
    state = serializers.SerializerMethodField(
        help_text="planned, active, between (two of its weekly windows) or over, at this moment."
    )
    next_change_at = serializers.SerializerMethodField(
        help_text="When it begins or ceases to be in force next. Null: never by itself."
    )

    class Meta:
        model = Freeze
        fields = (
            "id",
            "kind",
            "provider",
            "owner",
            "names",
            "name_suffixes",
            "state",
            "reason",
            "starts_at",
            "ends_at",
            "window",
            "next_change_at",
            "created_by",
            "created_at",
        )

    @extend_schema_field(serializers.ChoiceField(choices=[each.value for each in FreezeState]))
    def get_state(self, row: Freeze) -> str:
        return compute_freeze_state(row, self._now).value

    @extend_schema_field(WeeklyWindow(allow_null=True))
    def get_window(self, row: Freeze) -> Any:
        return row.window

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_next_change_at(self, row: Freeze) -> datetime | None:
        return compute_next_change(row, self._now)

    @cached_property
    def _now(self) -> datetime:
        """One time for all rows of a response, read once."""
        return fetch_now()


class FreezeBody(StrictSerializer):
    """What to freeze, why, and until when. It is for what matches all that is given."""

    kind = serializers.ChoiceField(
        choices=Freeze.Kind.choices,
        default=Freeze.Kind.FREEZE,
        help_text="freeze stops instances behind the guard, transfers and loops; pin stops instances alone.",
    )
    provider = ProviderIdField(allow_null=True, default=None, help_text="Id or name. Nothing: all providers.")
    owner = OwnerIdField(
        queryset=Owner.objects.all(),
        allow_null=True,
        default=None,
        help_text="Owner id. Nothing: all owners.",
    )
    names = serializers.ListField(
        child=serializers.CharField(max_length=_LONGEST_NAME),
        default=list,
        max_length=MOST_NAMES,
        help_text="Exact names. Neither names nor suffixes: all names.",
    )
    name_suffixes = serializers.ListField(
        child=serializers.CharField(max_length=_LONGEST_NAME),
        default=list,
        max_length=MOST_NAMES,
        help_text="Suffixes, as in a domain filter: example.org with all below it, .example.org only below.",
    )
    reason = serializers.CharField(max_length=5000)
    starts_at = serializers.DateTimeField(allow_null=True, default=None, help_text="Nothing: now.")
    ends_at = serializers.DateTimeField(allow_null=True, default=None, help_text="Nothing: until lifted.")
    window = WeeklyWindow(allow_null=True, default=None, help_text="Nothing: always.")


class FreezeParameters(StrictSerializer):
    provider = ProviderFilterField(required=False, help_text="Id or name: those of this provider.")
    owner = OwnerFilterField(required=False, help_text="Owner id: those of this owner.")


@describe(list="List freezes, newest first.", retrieve="One freeze.")
class FreezeViews(NounViewSet):
    queryset = with_provider(Freeze.objects.all()).select_related("owner")
    serializer_class = FreezeAnswer
    parameters_class = FreezeParameters
    scopes = {"create": "admin", "lift": "admin", "destroy": "admin"}

    @extend_schema(parameters=[IDEMPOTENCY_KEY, LOCATION], request=FreezeBody, responses={201: FreezeAnswer})
    @idempotent()
    def create(self, request: Request) -> Response:
        """Freeze or pin a provider, an owner, names, or all."""
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
