"""Register, change, delete and probe a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from providers.http.bounded_http import DEFAULT_LIMITS
from providers.http.errors import ProviderError
from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, SecretUnavailable
from registry_app.inventory.address import is_same_origin, read_store_address
from registry_app.inventory.rows import (
    change_row,
    create_row,
    delete_row,
    fetch_row,
    raise_if_not_administrator,
)
from registry_app.mirror.client import build_kubernetes_client
from registry_app.models import Cluster
from registry_app.queries.dependents import find_cluster_dependents

_CREDENTIALS = ("token", "client_key")


def register_cluster(actor: Actor, values: Mapping[str, Any]) -> Cluster:
    """Store a cluster. Raises NotAllowed, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "clusters")
    address = read_store_address("api_url", str(values.get("api_url", "")))
    return create_row(actor, Cluster, {**values, "api_url": address}, action="cluster.registered")


def change_cluster(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> Cluster:
    """Change a cluster. Its credentials are cleared when its API moves to another origin and no new ones
    come along. Raises NotAllowed, NotFound, StateMoved, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "clusters")
    values = dict(changes)
    if "api_url" in values:
        values["api_url"] = read_store_address("api_url", str(values["api_url"]))
        if not is_same_origin(fetch_row(Cluster, row_id).api_url, values["api_url"]):
            values = {**dict.fromkeys(_CREDENTIALS, ""), **values}
    return change_row(
        actor, Cluster, row_id, values, action="cluster.changed", expected_updated_at=expected_updated_at
    )


def delete_cluster(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete a cluster in which nothing runs. Raises as `delete_provider`."""
    raise_if_not_administrator(actor, "clusters")
    delete_row(
        actor,
        Cluster,
        row_id,
        action="cluster.deleted",
        expected_updated_at=expected_updated_at,
        find_dependents=find_cluster_dependents,
        end=Cluster.delete,
    )


@dataclass(frozen=True)
class ClusterReport:
    """The response of a Kubernetes API. `error` is empty if it could be used."""

    error_code: str = ""
    error: str = ""
    hint: str = ""
    version: str = ""

    @property
    def is_ok(self) -> bool:
        return not self.error


def probe_cluster(actor: Actor, cluster_id: int) -> ClusterReport:
    """Send one request. Raises NotAllowed, NotFound, or InvalidRequest without an address; whatever the API
    does wrong is in the report."""
    raise_if_not_administrator(actor, "clusters")
    cluster = fetch_row(Cluster, cluster_id)
    if not cluster.api_url:
        raise InvalidRequest(
            f"There is no Kubernetes API for {cluster}.",
            fields={"api_url": ["Give its address, such as https://host:6443."]},
        )
    try:
        return ClusterReport(version=build_kubernetes_client(cluster, DEFAULT_LIMITS).check())
    except ProviderError as error:
        return ClusterReport(error_code=error.code, error=str(error), hint=error.hint)
    except SecretUnavailable as error:
        return ClusterReport(error_code=error.code, error=error.happened, hint=error.todo)
