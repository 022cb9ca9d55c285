"""Register a loop: the word that dnsadmin runs an owner id at a provider."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.errors import RefusedBySafety
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.models import Loop, Owner, Provider
from registry_app.queries.instance import find_cluster_instance


def register_loop(actor: Actor, values: Mapping[str, Any]) -> Loop:
    """Store a loop. Raises NotAllowed, InvalidRequest with the fields, or RefusedBySafety where the owner is
    not registered, or is the instance of a cluster."""
    raise_if_not_administrator(actor, "loops")
    owner, provider = values.get("owner"), values.get("provider")
    if isinstance(owner, Owner) and isinstance(provider, Provider):
        raise_if_not_dnsadmins(owner, provider)
    return create_row(actor, Loop, values, action="loop.registered")


def raise_if_not_dnsadmins(owner: Owner, provider: Provider) -> None:
    """Raise RefusedBySafety for an owner that nobody registered, or for which an instance in a cluster may
    write at this provider."""
    if owner.status != Owner.Status.REGISTERED:
        raise RefusedBySafety(
            f"{owner.owner_id} is not registered.",
            todo="Register it first, as an owner of dnsadmin's own.",
            code="owner_not_registered",
        )
    instance = find_cluster_instance(owner, provider)
    if instance is not None:
        raise RefusedBySafety(
            f"{owner.owner_id} runs in the cluster {instance.cluster}: its own instance there and dnsadmin "
            "would undo each other's work.",
            todo="Register an owner id that no instance signs with.",
            code="owner_runs_in_a_cluster",
        )
