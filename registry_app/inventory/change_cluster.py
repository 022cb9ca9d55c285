"""Change a cluster."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from registry_app.actor import Actor
from registry_app.inventory.rows import change_row, raise_if_not_administrator
from registry_app.models import Cluster


def change_cluster(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> Cluster:
    """Change a cluster. Raises NotAllowed, NotFound, StateMoved, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "clusters")
    return change_row(
        actor, Cluster, row_id, changes, action="cluster.changed", expected_updated_at=expected_updated_at
    )
