"""Register a loop: the word that dnsadmin runs an owner id at a provider."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.errors import RefusedBySafety
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.models import Loop, Owner


def register_loop(actor: Actor, values: Mapping[str, Any]) -> Loop:
    """Store a loop. Raises NotAllowed, InvalidRequest with the fields, or RefusedBySafety where the owner is
    not registered, or is the instance of a cluster."""
    raise_if_not_administrator(actor, "loops")
    owner = values.get("owner")
    if isinstance(owner, Owner):
        raise_if_not_dnsadmins(owner)
    return create_row(actor, Loop, values, action="loop.registered")


def raise_if_not_dnsadmins(owner: Owner) -> None:
    """Raise RefusedBySafety for an owner that somebody else's instance runs, or that nobody registered."""
    if owner.status != Owner.Status.REGISTERED:
        raise RefusedBySafety(
            f"{owner.owner_id} is not registered.",
            todo="Register it first, as an owner of dnsadmin's own.",
            code="owner_not_registered",
        )
    if owner.cluster is not None:
        raise RefusedBySafety(
            f"{owner.owner_id} runs in the cluster {owner.cluster.name}: its own instance there and dnsadmin "
            "would undo each other's work.",
            todo="Register an owner id that no instance signs with.",
            code="owner_runs_in_a_cluster",
        )
