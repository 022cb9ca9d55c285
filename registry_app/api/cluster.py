"""Clusters: where owners run. Credentials are write-only."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.fields import ReportAnswer, RowSerializer, SecretField
from registry_app.api.request import EmptyBody, StrictModelSerializer, read_body
from registry_app.api.view_set import ConfigurationViewSet, Mutations, describe
from registry_app.inventory.cluster import change_cluster, delete_cluster, probe_cluster, register_cluster
from registry_app.models import Cluster
from registry_app.queries.provider import build_is_set

_SETTINGS = ("name", "environment", "description", "api_url", "ca_certificate", "client_certificate")


class ClusterAnswer(RowSerializer[Cluster]):
    """A cluster; of its credentials only whether they are set."""

    has_token = serializers.BooleanField()
    has_client_key = serializers.BooleanField()

    class Meta:
        model = Cluster
        fields = ("id", *_SETTINGS, "has_token", "has_client_key", "created_at", "updated_at")


class ClusterBody(StrictModelSerializer):
    """The fields of a cluster. Its Kubernetes API is only needed where claims are kept in it."""

    token = SecretField(
        trim_whitespace=False,
        help_text="A service account's token, or env:NAME or file:NAME. Never shown again.",
    )
    client_key = SecretField(help_text="PEM. Never shown again.")

    class Meta:
        model = Cluster
        fields = (*_SETTINGS, "token", "client_key")


class ClusterReportAnswer(ReportAnswer):
    """What the Kubernetes API answered when it was asked once."""

    version = serializers.CharField()


@describe(
    list="List clusters by name.",
    retrieve="One cluster.",
    create="Register a cluster.",
    partial_update="Change a cluster. Its credentials change only if sent, and are cleared when its API "
    "moves.",
    destroy="Delete a cluster. Refused (409, `in_use`) while something depends on it.",
)
class ClusterViews(ConfigurationViewSet):
    queryset = Cluster.objects.annotate(
        has_token=build_is_set("token"), has_client_key=build_is_set("client_key")
    )
    serializer_class = ClusterAnswer
    body_class = ClusterBody
    mutations = Mutations(register_cluster, change_cluster, delete_cluster)

    @extend_schema(request=EmptyBody, responses=ClusterReportAnswer)
    @action(detail=True, methods=["post"], url_path="connection-tests")
    def connection_tests(self, request: Request, pk: int) -> Response:
        """Ask the cluster's Kubernetes API for its version once. Changes nothing."""
        read_body(EmptyBody, request)
        return Response(ClusterReportAnswer(probe_cluster(self.actor, pk)).data)
