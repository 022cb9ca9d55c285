"""Change a registry profile."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, StateMoved
from registry_app.inventory.registry_place import find_place
from registry_app.inventory.rows import change_row, fetch_row, raise_if_not_administrator
from registry_app.inventory.store_address import is_same_origin, read_store_address
from registry_app.models import RegistryProfile


def change_registry_profile(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> RegistryProfile:
    """Change a registry profile. Raises as `change_row` does, or NotAllowed.

    The secrets of its access key are cleared when its table is looked for elsewhere and no new ones come
    along: a secret is never used at a place it was not entered for. A session token goes with its key.
    """
    raise_if_not_administrator(actor, "registry profiles")
    row = fetch_row(RegistryProfile, row_id)
    values = dict(changes)
    if "endpoint_url" in values:
        values["endpoint_url"] = read_store_address("endpoint_url", str(values["endpoint_url"]))
        if not is_same_origin(row.endpoint_url, values["endpoint_url"]):
            values.setdefault("secret_access_key", "")
            values.setdefault("session_token", "")
    if values.get("access_key_id", row.access_key_id) != row.access_key_id:
        values.setdefault("session_token", "")
    values["store_place"] = find_place(values, row)
    try:
        return change_row(
            actor,
            RegistryProfile,
            row_id,
            values,
            action="registry_profile.changed",
            expected_updated_at=expected_updated_at,
        )
    except (InvalidRequest, StateMoved):
        find_place(values, row)  # somebody may have been first at this very store: then say so
        raise
