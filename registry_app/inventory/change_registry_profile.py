"""Change a registry profile."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from registry_app.actor import Actor
from registry_app.inventory.rows import change_row, raise_if_not_administrator
from registry_app.models import RegistryProfile


def change_registry_profile(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> RegistryProfile:
    """Change a registry profile. Raises as `change_row` does, or NotAllowed."""
    raise_if_not_administrator(actor, "registry profiles")
    return change_row(
        actor,
        RegistryProfile,
        row_id,
        changes,
        action="registry_profile.changed",
        expected_updated_at=expected_updated_at,
    )
