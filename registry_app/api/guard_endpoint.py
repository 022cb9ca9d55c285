"""Guard endpoints: where instances talk to the guard. A password is shown once."""

from datetime import datetime
from typing import Any

from django.utils.functional import cached_property
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.fields import (
    OwnerFilterField,
    ProviderField,
    ProviderFilterField,
    ProviderReference,
    RowIdField,
    RowSerializer,
)
from registry_app.api.idempotency import IDEMPOTENCY_KEY, idempotent
from registry_app.api.request import StrictModelSerializer, StrictSerializer, read_body
from registry_app.api.view_set import ConfigurationViewSet, Mutations, describe, post_action
from registry_app.clock import fetch_now
from registry_app.inventory.guard_endpoint import (
    change_guard_endpoint,
    change_guard_mode,
    delete_guard_endpoint,
    issue_guard_credential,
    register_guard_endpoint,
    remove_guard_credential,
)
from registry_app.models import DesiredSet, GuardCount, GuardEndpoint, HeldDelete, Instance
from registry_app.queries.guard_decision import count_held_deletes, fetch_guard_counts
from registry_app.queries.guard_endpoint import find_desired_set, is_stale, list_guard_endpoints
from registry_app.queries.keyset import Keyset

_MOST_NETWORKS = 100
_MOST_SHARED_NAMES = 1_000
_LIMITS = ("networks", "deadline_seconds", "max_body_bytes", "has_own_view")
_RULES = ("refuses_batch", "shared_names", "delete_percent", "most_deletes", "window_seconds")
_CREDENTIAL_WARNING = "ExternalDNS writes the user name and password of its URL into its log when it starts."


class InstanceReference(RowSerializer[Instance]):
    """An instance, named."""

    class Meta:
        model = Instance
        fields = ("id", "name")


@extend_schema_field(RowIdField())
class InstanceField(serializers.RelatedField[Instance, int, Any]):
    """An instance in a body, by its id: several owners may have one of the same name."""

    def __init__(self, **options: Any) -> None:
        super().__init__(queryset=Instance.objects.all(), **options)

    def to_internal_value(self, data: Any) -> Instance:
        rows = Instance.objects.select_related("owner")
        row = rows.filter(pk=RowIdField().run_validation(data)).first()
        if row is None:
            raise serializers.ValidationError("There is no such instance.")
        return row


class DesiredSetAnswer(RowSerializer[DesiredSet]):
    """What an instance posted last. The same set came `seen_count` times in a row."""

    is_stale = serializers.SerializerMethodField(
        help_text="The instance did not post for three of its intervals. A minute counts as the shortest."
    )
    interval_seconds = serializers.IntegerField(
        allow_null=True, help_text="Between the last two posts; null: it posted once."
    )

    class Meta:
        model = DesiredSet
        fields = (
            "endpoint_count",
            "set_aside",
            "first_seen_at",
            "last_seen_at",
            "seen_count",
            "interval_seconds",
            "is_stale",
        )

    def get_is_stale(self, row: DesiredSet) -> bool:
        return is_stale(row, self._now)

    @cached_property
    def _now(self) -> datetime:
        """One time for all rows of a response, read once."""
        return fetch_now()


class GuardEndpointAnswer(RowSerializer[GuardEndpoint]):
    """A guard endpoint, and what is known of what its instance wants."""

    provider = ProviderReference()
    instance = InstanceReference()  # type: ignore[assignment]  # a field, not what the serializer is given
    owner = serializers.CharField(source="instance.owner.owner_id", help_text="Owner id.")
    username = serializers.CharField(help_text="Of its credential. Empty: it has none, and asks for none.")
    networks = serializers.ListField(child=serializers.CharField())
    shared_names = serializers.ListField(child=serializers.CharField())
    first_changes_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When its first change set was taken, which deletes nothing; null: there was none.",
    )
    desired_set = serializers.SerializerMethodField(help_text="Null: the instance posted nothing yet.")

    class Meta:
        model = GuardEndpoint
        fields: tuple[str, ...] = (
            "id",
            "slug",
            "provider",
            "instance",
            "owner",
            "mode",
            "username",
            *_LIMITS,
            *_RULES,
            "first_changes_at",
            "desired_set",
            "created_at",
            "updated_at",
        )

    @extend_schema_field(DesiredSetAnswer(allow_null=True))
    def get_desired_set(self, row: GuardEndpoint) -> Any:
        found = find_desired_set(row)
        return None if found is None else self._desired_sets.to_representation(found)

    @cached_property
    def _desired_sets(self) -> DesiredSetAnswer:
        return DesiredSetAnswer()


class GuardCountAnswer(RowSerializer[GuardCount]):
    """How often the guard decided so, in all its time."""

    class Meta:
        model = GuardCount
        fields = ("outcome", "rule", "count")


class GuardEndpointDetail(GuardEndpointAnswer):
    """A guard endpoint, and what was decided for its instance."""

    counts = serializers.SerializerMethodField(help_text="How often each rule decided what; none: never.")
    held_deletes = serializers.SerializerMethodField(help_text="How many deletes wait for a person.")

    class Meta(GuardEndpointAnswer.Meta):
        fields = (*GuardEndpointAnswer.Meta.fields, "counts", "held_deletes")

    @extend_schema_field(GuardCountAnswer(many=True))
    def get_counts(self, row: GuardEndpoint) -> Any:
        return GuardCountAnswer(fetch_guard_counts(row), many=True).data

    def get_held_deletes(self, row: GuardEndpoint) -> int:
        return count_held_deletes(row).get(HeldDelete.Status.HELD, 0)


class IssuedCredentialAnswer(GuardEndpointDetail):
    """A guard endpoint, and the credential that was just issued for it."""

    password = serializers.CharField(
        help_text=f"Shown this once; empty in a replay. {_CREDENTIAL_WARNING}",
    )

    class Meta(GuardEndpointDetail.Meta):
        fields = (*GuardEndpointDetail.Meta.fields, "password")


class GuardEndpointBody(StrictModelSerializer):
    """The fields of a guard endpoint. Provider and instance stay as they were registered; the mode is
    changed by itself."""

    provider = ProviderField(help_text="Id or name.")
    instance = InstanceField(help_text="Its id.")
    networks = serializers.ListField(
        child=serializers.CharField(max_length=50),
        required=False,
        max_length=_MOST_NETWORKS,
        help_text="Networks the instance may come from, such as 192.0.2.0/24. Empty: any.",
    )

    shared_names = serializers.ListField(
        child=serializers.CharField(max_length=255),
        required=False,
        max_length=_MOST_SHARED_NAMES,
        help_text="Suffixes of names at which the instance may have record sets with a set identifier beside "
        "another owner's. The guard endpoint of the other owner has to list them too.",
    )

    class Meta:
        model = GuardEndpoint
        fields = ("slug", "provider", "instance", "mode", *_LIMITS, *_RULES)
        # The mutation refuses a slug that is taken, and a second one of an instance at a provider.
        validators: list[Any] = []


class GuardEndpointParameters(StrictSerializer):
    slug = serializers.SlugField(max_length=63, required=False, help_text="Exactly this one.")
    owner = OwnerFilterField(required=False, help_text="Owner id.", source="instance__owner")
    provider = ProviderFilterField(required=False, help_text="Id or name.")
    mode = serializers.ChoiceField(choices=GuardEndpoint.Mode.choices, required=False)


class ModeBody(StrictSerializer):
    """What the guard does from the next request of the instance on, and why."""

    mode = serializers.ChoiceField(choices=GuardEndpoint.Mode.choices)
    reason = serializers.CharField(allow_blank=True, default="", max_length=5000)


class CredentialBody(StrictSerializer):
    """For whom."""

    username = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=100,
        help_text="Letters, digits, hyphens, dots, tildes and underscores. Empty: the slug.",
    )


@describe(
    list="List guard endpoints by slug, with what is known of their desired sets.",
    retrieve="One guard endpoint.",
    create="Register a guard endpoint. The guard answers its instance at once.",
    partial_update="Change the slug, networks, limits or rules of a guard endpoint. Provider and instance "
    "stay; the mode is changed with `POST .../mode/`.",
    destroy="Delete a guard endpoint with its desired set, decisions and held deletes. Nothing is sent to "
    "the provider.",
)
class GuardEndpointViews(ConfigurationViewSet):
    queryset = list_guard_endpoints()
    keyset = Keyset(("slug", "id"))
    scopes = {
        **ConfigurationViewSet.scopes,
        "mode": "admin",
        "credential": "admin",
        "remove_credential": "admin",
    }
    serializer_class = GuardEndpointAnswer
    detail_class = GuardEndpointDetail
    parameters_class = GuardEndpointParameters
    body_class = GuardEndpointBody
    mutations = Mutations(register_guard_endpoint, change_guard_endpoint, delete_guard_endpoint)

    @post_action(ModeBody, GuardEndpointDetail)
    def mode(self, body: dict[str, Any], pk: int) -> None:
        """Change what the guard does with what the instance asks, from its next request on."""
        change_guard_mode(self.actor, pk, **body)

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY], request=CredentialBody, responses={200: IssuedCredentialAnswer}
    )
    @action(detail=True, methods=["post"])
    @idempotent(secrets=("password",))
    def credential(self, request: Request, pk: int) -> Response:
        """Issue a user name and password. The password is in this response and nowhere else; an older one
        stops working at once."""
        _, password = issue_guard_credential(self.actor, pk, **read_body(CredentialBody, request))
        return Response({**self.show(self.get_object()), "password": password})

    @extend_schema(request=None, responses={204: None})
    @credential.mapping.delete
    def remove_credential(self, request: Request, pk: int) -> Response:
        """Remove the credential. The instance may come without one from now on."""
        remove_guard_credential(self.actor, pk)
        return Response(status=204)
