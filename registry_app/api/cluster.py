"""Clusters: where owners run. Credentials are write-only."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.body import EmptyBody, EmptyParameters, StrictModelSerializer
from registry_app.api.configuration import ConfigurationViewSet
from registry_app.api.idempotency import idempotent
from registry_app.api.parameters import ETAG, IDEMPOTENCY_KEY, IF_MATCH, LOCATION
from registry_app.api.reference import is_set
from registry_app.api.row_serializer import RowSerializer
from registry_app.api.view_set import read_body, read_parameters
from registry_app.inventory.cluster import (
    ClusterReport,
    change_cluster,
    delete_cluster,
    probe_cluster,
    register_cluster,
)
from registry_app.models import Cluster

_SETTINGS = ("name", "environment", "description", "api_url", "ca_certificate", "client_certificate")


class ClusterAnswer(RowSerializer[Cluster]):
    """A cluster; of its credentials only whether they are set."""

    has_token = serializers.BooleanField()
    has_client_key = serializers.BooleanField()

    class Meta:
        model = Cluster
        fields = ("id", *_SETTINGS, "has_token", "has_client_key", "created_at", "updated_at")


class ClusterBody(StrictModelSerializer):
    """What is said of a cluster. Its Kubernetes API is only needed where claims are kept in it."""

    token = serializers.CharField(
        write_only=True,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="A service account's token, or env:NAME or file:NAME. Never shown again.",
    )
    client_key = serializers.CharField(
        write_only=True, required=False, allow_blank=True, help_text="PEM. Never shown again."
    )

    class Meta:
        model = Cluster
        fields = (*_SETTINGS, "token", "client_key")


class ClusterReportAnswer(serializers.Serializer[ClusterReport]):
    """What the Kubernetes API answered when it was asked once."""

    is_ok = serializers.BooleanField()
    error_code = serializers.CharField()
    error = serializers.CharField()
    hint = serializers.CharField()
    version = serializers.CharField()


class ClusterViews(ConfigurationViewSet):
    """Clusters."""

    queryset = Cluster.objects.annotate(has_token=is_set("token"), has_client_key=is_set("client_key"))
    answer_shape = ClusterAnswer
    body_shape = ClusterBody
    address = "clusters"
    scopes: ClassVar = {**ConfigurationViewSet.scopes, "connection_tests": "admin"}
    contacting = frozenset({"connection_tests"})

    @extend_schema(responses=ClusterAnswer(many=True))
    def list(self, request: Request) -> Response:
        """List clusters by name."""
        read_parameters(EmptyParameters, request.query_params)
        return self.answer_page(self.get_queryset(), ClusterAnswer)

    @extend_schema(parameters=[ETAG], responses=ClusterAnswer)
    def retrieve(self, request: Request, pk: int) -> Response:
        """One cluster."""
        return self.answer_row(pk)

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY, LOCATION], request=ClusterBody, responses={201: ClusterAnswer}
    )
    @idempotent()
    def create(self, request: Request) -> Response:
        """Register a cluster."""
        return self.register_row(request, register_cluster)

    @extend_schema(parameters=[IF_MATCH, ETAG], request=ClusterBody, responses=ClusterAnswer)
    def partial_update(self, request: Request, pk: int) -> Response:
        """Change a cluster. Its credentials change only if sent, and are cleared when its API moves."""
        return self.change_row(request, pk, change_cluster)

    @extend_schema(parameters=[IF_MATCH], request=None, responses={204: None})
    def destroy(self, request: Request, pk: int) -> Response:
        """Delete a cluster. Refused (409, `in_use`) while something depends on it."""
        return self.delete_row(request, pk, delete_cluster)

    @extend_schema(request=EmptyBody, responses=ClusterReportAnswer)
    def connection_tests(self, request: Request, pk: int) -> Response:
        """Ask the cluster's Kubernetes API for its version once. Changes nothing."""
        read_body(EmptyBody, request)
        return Response(ClusterReportAnswer(probe_cluster(self.actor, pk)).data)
