"""Registry profiles: how ExternalDNS instances write their claims. The encryption key is write-only."""

from django.db.models import Prefetch
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.body import EmptyParameters, StrictModelSerializer
from registry_app.api.configuration import ConfigurationViewSet
from registry_app.api.idempotency import idempotent
from registry_app.api.parameters import ETAG, IDEMPOTENCY_KEY, IF_MATCH, LOCATION
from registry_app.api.reference import ProviderReference, is_set
from registry_app.api.row_serializer import RowSerializer
from registry_app.api.view_set import read_parameters
from registry_app.inventory.change_registry_profile import change_registry_profile
from registry_app.inventory.register_registry_profile import register_registry_profile
from registry_app.models import Provider, RegistryProfile


class RegistryProfileAnswer(RowSerializer[RegistryProfile]):
    """A registry profile; of its key only whether there is one."""

    providers = ProviderReference(many=True)
    has_encryption_key = serializers.BooleanField()

    class Meta:
        model = RegistryProfile
        fields = (
            "id",
            "name",
            "kind",
            "prefix",
            "suffix",
            "wildcard_replacement",
            "has_encryption_key",
            "providers",
            "created_at",
            "updated_at",
        )


class RegistryProfileBody(StrictModelSerializer):
    """What is said of a registry profile. `providers` are ids; none means it is tried everywhere."""

    encryption_key = serializers.CharField(
        write_only=True,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="32 characters or base64, or env:NAME or file:NAME. Never shown again.",
    )

    class Meta:
        model = RegistryProfile
        fields = ("name", "kind", "prefix", "suffix", "wildcard_replacement", "encryption_key", "providers")


class RegistryProfileViews(ConfigurationViewSet):
    """Registry profiles."""

    queryset = (
        RegistryProfile.objects.defer("encryption_key")
        .annotate(has_encryption_key=is_set("encryption_key"))
        .prefetch_related(Prefetch("providers", Provider.objects.only("id", "name")))
    )
    answer_shape = RegistryProfileAnswer
    body_shape = RegistryProfileBody
    address = "registry-profiles"

    @extend_schema(responses=RegistryProfileAnswer(many=True))
    def list(self, request: Request) -> Response:
        """List registry profiles by name."""
        read_parameters(EmptyParameters, request.query_params)
        return self.answer_page(self.get_queryset(), RegistryProfileAnswer)

    @extend_schema(parameters=[ETAG], responses=RegistryProfileAnswer)
    def retrieve(self, request: Request, pk: int) -> Response:
        """One registry profile."""
        return self.answer_row(pk)

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY, LOCATION],
        request=RegistryProfileBody,
        responses={201: RegistryProfileAnswer},
    )
    @idempotent()
    def create(self, request: Request) -> Response:
        """Register a registry profile."""
        return self.register_row(request, register_registry_profile)

    @extend_schema(parameters=[IF_MATCH, ETAG], request=RegistryProfileBody, responses=RegistryProfileAnswer)
    def partial_update(self, request: Request, pk: int) -> Response:
        """Change a registry profile. Its key changes only if one is sent."""
        return self.change_row(request, pk, change_registry_profile)
