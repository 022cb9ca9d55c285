"""Registry profiles: how ExternalDNS instances write their claims. Keys are write-only."""

from typing import Any

from django.db.models import Prefetch
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.fields import (
    NameField,
    ProviderField,
    ProviderReference,
    RowSerializer,
    SecretField,
)
from registry_app.api.request import EmptyBody, StrictModelSerializer, read_body
from registry_app.api.view_set import ConfigurationViewSet, Mutations, describe
from registry_app.inventory.registry_profile import (
    ClaimCount,
    RegistryReport,
    change_registry_profile,
    delete_registry_profile,
    probe_registry,
    register_registry_profile,
)
from registry_app.models import Cluster, Provider, RegistryProfile
from registry_app.queries.provider import build_is_set

_SETTINGS = (
    "name",
    "kind",
    "prefix",
    "suffix",
    "wildcard_replacement",
    "cluster",
    "namespace",
    "table",
    "region",
    "endpoint_url",
    "access_key_id",
    "is_rebuilt",
    "keeps_txt",
)


class RegistryProfileAnswer(RowSerializer[RegistryProfile]):
    """A registry profile; of its keys only whether they are set."""

    providers = ProviderReference(many=True)
    cluster = serializers.SlugRelatedField[Any](slug_field="name", read_only=True, allow_null=True)
    has_encryption_key = serializers.BooleanField()
    has_secret_access_key = serializers.BooleanField()
    has_session_token = serializers.BooleanField()

    class Meta:
        model = RegistryProfile
        fields = (
            "id",
            *_SETTINGS,
            "has_encryption_key",
            "has_secret_access_key",
            "has_session_token",
            "providers",
            "exported_at",
            "export_error",
            "created_at",
            "updated_at",
        )


class RegistryProfileBody(StrictModelSerializer):
    """The settings of a registry profile. `providers` are ids or names; for TXT none means it is
    tried everywhere, a store beside DNS names exactly one. `cluster` is the name of one, for ConfigMap and
    crd."""

    providers = ProviderField(
        many=True,
        required=False,
        help_text="TXT: where it is tried, none for everywhere. Any other kind: the one provider whose "
        "record sets it speaks for.",
    )
    cluster = NameField(Cluster.objects.all())
    secret_access_key = SecretField(
        trim_whitespace=False,
        help_text="DynamoDB: the key, or env:NAME or file:NAME. Never shown again.",
    )
    session_token = SecretField(
        trim_whitespace=False,
        help_text="DynamoDB: token of temporary credentials, or env:NAME or file:NAME. Never shown again.",
    )
    encryption_key = SecretField(
        trim_whitespace=False,
        help_text="32 characters or base64, or env:NAME or file:NAME. Never shown again.",
    )

    class Meta:
        model = RegistryProfile
        fields = (*_SETTINGS, "encryption_key", "secret_access_key", "session_token", "providers")


class ClaimCountAnswer(serializers.Serializer[ClaimCount]):
    """How many claims of a store name an owner id."""

    owner_id = serializers.CharField()
    claims = serializers.IntegerField()


class RegistryReportAnswer(serializers.Serializer[RegistryReport]):
    """What the registry's store answered when it was read once."""

    is_ok = serializers.BooleanField()
    error_code = serializers.CharField()
    error = serializers.CharField()
    hint = serializers.CharField()
    claim_count = serializers.IntegerField()
    problem_count = serializers.IntegerField()
    owners = ClaimCountAnswer(many=True)


@describe(
    list="List registry profiles by name.",
    retrieve="One registry profile.",
    create="Register a registry profile.",
    partial_update="Change a registry profile. Its keys change only if sent; a secret access key and a "
    "session token are cleared when the endpoint moves, a session token with its access key.",
    destroy="Delete a registry profile. Refused (409, `in_use`) while something depends on it.",
)
class RegistryProfileViews(ConfigurationViewSet):
    """Registry profiles."""

    queryset = (
        RegistryProfile.objects.annotate(
            has_encryption_key=build_is_set("encryption_key"),
            has_secret_access_key=build_is_set("secret_access_key"),
            has_session_token=build_is_set("session_token"),
        )
        .prefetch_related("cluster")
        .prefetch_related(Prefetch("providers", Provider.objects.only("id", "name")))
    )
    serializer_class = RegistryProfileAnswer
    body_class = RegistryProfileBody
    mutations = Mutations(register_registry_profile, change_registry_profile, delete_registry_profile)

    @extend_schema(request=EmptyBody, responses=RegistryReportAnswer)
    @action(detail=True, methods=["post"], url_path="connection-tests")
    def connection_tests(self, request: Request, pk: int) -> Response:
        """Read the claims of the registry's store once. Changes nothing."""
        read_body(EmptyBody, request)
        return Response(RegistryReportAnswer(probe_registry(self.actor, pk)).data)
