"""Clusters: where owners run."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.body import EmptyParameters, StrictModelSerializer
from registry_app.api.configuration import ConfigurationViewSet
from registry_app.api.idempotency import idempotent
from registry_app.api.parameters import ETAG, IDEMPOTENCY_KEY, IF_MATCH, LOCATION
from registry_app.api.row_serializer import RowSerializer
from registry_app.api.view_set import read_parameters
from registry_app.inventory.change_cluster import change_cluster
from registry_app.inventory.register_cluster import register_cluster
from registry_app.models import Cluster


class ClusterAnswer(RowSerializer[Cluster]):
    """A cluster."""

    class Meta:
        model = Cluster
        fields = ("id", "name", "environment", "description", "created_at", "updated_at")


class ClusterBody(StrictModelSerializer):
    """What is said of a cluster."""

    class Meta:
        model = Cluster
        fields = ("name", "environment", "description")


class ClusterViews(ConfigurationViewSet):
    """Clusters."""

    queryset = Cluster.objects.all()
    answer_shape = ClusterAnswer
    body_shape = ClusterBody
    address = "clusters"

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
        """Change a cluster."""
        return self.change_row(request, pk, change_cluster)
