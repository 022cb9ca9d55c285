"""Register an owner."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.models import Owner


def register_owner(actor: Actor, values: Mapping[str, Any]) -> Owner:
    """Store an owner, as registered unless `values` say otherwise. Raises NotAllowed or InvalidRequest."""
    raise_if_not_administrator(actor, "owners")
    return create_row(actor, Owner, {"status": Owner.Status.REGISTERED, **values}, action="owner.registered")
