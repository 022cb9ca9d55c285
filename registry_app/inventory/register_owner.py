"""Register an owner."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from registry_app.actor import Actor
from registry_app.inventory.only_instance import set_only_instance, split_instance_values
from registry_app.inventory.rows import change_row, create_row, raise_if_not_administrator
from registry_app.models import Owner


def register_owner(actor: Actor, values: Mapping[str, Any]) -> Owner:
    """Store an owner, as registered unless `values` say otherwise, and its instance where they say anything
    of one. An owner that was only seen in claims, or was decommissioned, has its row already, and that is
    registered. Raises NotAllowed, InvalidRequest, or RefusedBySafety as `set_only_instance`."""
    raise_if_not_administrator(actor, "owners")
    own, of_instance = split_instance_values({"status": Owner.Status.REGISTERED, **values})
    seen = Owner.objects.filter(owner_id=own.get("owner_id")).exclude(status=Owner.Status.REGISTERED)
    with transaction.atomic():
        if (row := seen.first()) is not None:
            owner = change_row(actor, Owner, row.pk, own, action="owner.registered")
        else:
            owner = create_row(actor, Owner, own, action="owner.registered")
        set_only_instance(actor, owner, of_instance)
    return owner
