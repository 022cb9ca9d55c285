"""Register an owner."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from registry_app.actor import Actor
from registry_app.inventory.change_instance import change_instance
from registry_app.inventory.register_instance import create_instance
from registry_app.inventory.rows import change_row, create_row, raise_if_not_administrator
from registry_app.models import InstancePolicy, Owner

# What is said of an owner and is true of its only instance.
INSTANCE_FIELDS = ("policy", "cluster", "registry_profile")


def register_owner(actor: Actor, values: Mapping[str, Any]) -> Owner:
    """Store an owner, as registered unless `values` say otherwise, and its instance where they say anything
    of one. One that was only seen in claims, or was decommissioned, has its row already, and that is
    registered. Raises NotAllowed or InvalidRequest."""
    raise_if_not_administrator(actor, "owners")
    own, of_instance = split_instance_values(values)
    wanted = {"status": Owner.Status.REGISTERED, **own}
    seen = Owner.objects.filter(owner_id=wanted.get("owner_id")).exclude(status=Owner.Status.REGISTERED)
    with transaction.atomic():
        if (row := seen.first()) is not None:
            owner = change_row(actor, Owner, row.pk, wanted, action="owner.registered")
        else:
            owner = create_row(actor, Owner, wanted, action="owner.registered")
        if says_anything(of_instance):
            _store_instance(actor, owner, of_instance)
    return owner


def _store_instance(actor: Actor, owner: Owner, values: Mapping[str, Any]) -> None:
    known = owner.instances.order_by("pk").first()
    if known is None:
        create_instance(actor, {"owner": owner, **values})
    else:
        change_instance(actor, known.pk, values)


def split_instance_values(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said of the owner itself, and of its instance."""
    own = {name: value for name, value in values.items() if name not in INSTANCE_FIELDS}
    return own, {name: value for name, value in values.items() if name in INSTANCE_FIELDS}


def says_anything(of_instance: Mapping[str, Any]) -> bool:
    """Whether these values tell more than that nothing is known."""
    return any(value not in (None, "", InstancePolicy.UNKNOWN) for value in of_instance.values())
