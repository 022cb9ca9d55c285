"""Change an instance."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest
from registry_app.inventory.register_instance import touch_owner
from registry_app.inventory.rows import change_row, fetch_row, raise_if_not_administrator
from registry_app.models import Instance


def change_instance(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> Instance:
    """Change an instance, all but its owner. Approved transfers that rest on what it says are void by it.

    Raises NotAllowed, NotFound, StateMoved, or InvalidRequest with the fields.
    """
    raise_if_not_administrator(actor, "instances")
    row = fetch_row(Instance, row_id)
    if "owner" in changes and changes["owner"] != row.owner:
        raise InvalidRequest(
            "Whose instance it is cannot be changed.",
            todo="Register an instance of the other owner, and remove this one.",
            fields={"owner": ["It stays the owner it was registered for."]},
        )
    with transaction.atomic():
        touch_owner(row.owner_id)
        return change_row(
            actor,
            Instance,
            row_id,
            changes,
            action="instance.changed",
            expected_updated_at=expected_updated_at,
        )
