"""Change a cluster."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from registry_app.actor import Actor
from registry_app.inventory.rows import change_row, fetch_row, raise_if_not_administrator
from registry_app.inventory.store_address import is_same_origin, read_store_address
from registry_app.models import Cluster

_CREDENTIALS = ("token", "client_key")


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
