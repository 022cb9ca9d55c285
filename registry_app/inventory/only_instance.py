"""What is said of an owner and is true of its only instance."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.errors import RefusedBySafety
from registry_app.inventory.change_instance import change_instance
from registry_app.inventory.register_instance import create_instance
from registry_app.models import InstancePolicy, Owner

INSTANCE_FIELDS = ("policy", "cluster", "registry_profile")


def split_instance_values(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said of the owner itself, and of its instance."""
    own = {name: value for name, value in values.items() if name not in INSTANCE_FIELDS}
    return own, {name: value for name, value in values.items() if name in INSTANCE_FIELDS}


def set_only_instance(actor: Actor, owner: Owner, values: Mapping[str, Any]) -> None:
    """Change the only instance of an owner; register one where there is none and the values say anything.

    Inside the transaction that has the owner's version: nobody adds or removes an instance meanwhile.
    Raises RefusedBySafety where the owner has several.
    """
    known = list(owner.instances.values_list("pk", flat=True)[:2]) if values else []
    if len(known) > 1:
        raise RefusedBySafety(
            f"{owner.owner_id} has several instances, and nobody can tell which one is meant.",
            todo=f"Change the instance itself, under Instances or at /api/v1/instances/: "
            f"{', '.join(INSTANCE_FIELDS)} are what each of them says.",
            code="several_instances",
        )
    if known:
        change_instance(actor, known[0], values)
    elif any(value not in (None, "", InstancePolicy.UNKNOWN) for value in values.values()):
        create_instance(actor, {"owner": owner, **values})
