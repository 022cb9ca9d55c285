"""Register an owner."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.inventory.rows import change_row, create_row, raise_if_not_administrator
from registry_app.models import Owner


def register_owner(actor: Actor, values: Mapping[str, Any]) -> Owner:
    """Store an owner, as registered unless `values` say otherwise. One that was only seen in claims, or was
    decommissioned, has its row already, and that is registered. Raises NotAllowed or InvalidRequest."""
    raise_if_not_administrator(actor, "owners")
    values = {"status": Owner.Status.REGISTERED, **values}
    seen = Owner.objects.filter(owner_id=values.get("owner_id")).exclude(status=Owner.Status.REGISTERED)
    if (row := seen.first()) is not None:
        return change_row(actor, Owner, row.pk, values, action="owner.registered")
    return create_row(actor, Owner, values, action="owner.registered")
