"""Register a owner."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.models import Owner


def register_owner(actor: Actor, values: Mapping[str, Any]) -> Owner:
    """Store a owner. Raises NotAllowed, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "owners")
    return create_row(actor, Owner, values, action="owner.registered")
