"""Test the connection to a cluster's Kubernetes API: ask for its version, and change nothing."""

from dataclasses import dataclass

from providers.http.bounded_http import DEFAULT_LIMITS
from providers.http.errors import ProviderError
from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, SecretUnavailable
from registry_app.inventory.rows import fetch_row, raise_if_not_administrator
from registry_app.mirror.client import build_kubernetes_client
from registry_app.models import Cluster


@dataclass(frozen=True)
class ClusterReport:
    """What a Kubernetes API answered. `error` is empty when all went well."""

    error_code: str = ""
    error: str = ""
    hint: str = ""
    version: str = ""

    @property
    def is_ok(self) -> bool:
        return not self.error


def probe_cluster(actor: Actor, cluster_id: int) -> ClusterReport:
    """Ask once. Raises NotAllowed, NotFound, or InvalidRequest where no address is given; whatever the API
    does wrong is told in the report."""
    raise_if_not_administrator(actor, "clusters")
    cluster = fetch_row(Cluster, cluster_id)
    if not cluster.api_url:
        raise InvalidRequest(
            f"No Kubernetes API is given for {cluster}.",
            fields={"api_url": ["Give its address, such as https://host:6443."]},
        )
    try:
        return ClusterReport(version=build_kubernetes_client(cluster, DEFAULT_LIMITS).check())
    except ProviderError as error:
        return ClusterReport(error_code=error.code, error=str(error), hint=error.hint)
    except SecretUnavailable as error:
        return ClusterReport(error_code=error.code, error=error.happened, hint=error.todo)
