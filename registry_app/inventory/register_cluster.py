"""Register a cluster."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.inventory.store_address import read_store_address
from registry_app.models import Cluster


def register_cluster(actor: Actor, values: Mapping[str, Any]) -> Cluster:
    """Store a cluster. Raises NotAllowed, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "clusters")
    address = read_store_address("api_url", str(values.get("api_url", "")))
    return create_row(actor, Cluster, {**values, "api_url": address}, action="cluster.registered")
