"""Change an owner."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from registry_app.actor import Actor
from registry_app.inventory.rows import change_row, raise_if_not_administrator
from registry_app.models import Owner


def change_owner(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> Owner:
    """Change an owner. Raises NotAllowed, NotFound, StateMoved, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "owners")
    return change_row(
        actor, Owner, row_id, changes, action="owner.changed", expected_updated_at=expected_updated_at
    )
