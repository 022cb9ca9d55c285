"""Give a group a right."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.models import Grant


def add_grant(actor: Actor, values: Mapping[str, Any]) -> Grant:
    """Store a grant. Raises NotAllowed, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "grants")
    return create_row(actor, Grant, values, action="grant.added")
