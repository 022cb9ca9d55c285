"""Register, change and delete a loop."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, RefusedBySafety
from registry_app.inventory.rows import (
    change_row,
    create_row,
    delete_row,
    fetch_row,
    raise_if_not_administrator,
)
from registry_app.models import Loop, Owner, Provider
from registry_app.queries.dependents import find_loop_dependents
from registry_app.queries.instance import find_cluster_instance
from registry_app.reconcile.findings.loops import compute_loop_fingerprint
from registry_app.reconcile.store_findings import resolve_finding

_FIXED = ("owner", "provider")


def register_loop(actor: Actor, values: Mapping[str, Any]) -> Loop:
    """Store a loop. Raises NotAllowed, InvalidRequest with the fields, or RefusedBySafety where the owner is
    not registered, or is the instance of a cluster."""
    raise_if_not_administrator(actor, "loops")
    owner, provider = values.get("owner"), values.get("provider")
    if isinstance(owner, Owner) and isinstance(provider, Provider):
        _raise_if_not_for_a_loop(owner, provider)
    return create_row(actor, Loop, values, action="loop.registered")


def change_loop(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> Loop:
    """Change a loop, all but its owner and provider.

    Raises NotAllowed, NotFound, StateMoved, RefusedBySafety, or InvalidRequest with the fields.
    """
    raise_if_not_administrator(actor, "loops")
    row = fetch_row(Loop, row_id)
    moved = [name for name in _FIXED if name in changes and changes[name] != getattr(row, name)]
    if moved:
        raise InvalidRequest(
            "The owner and the provider of a loop cannot be changed.",
            todo="Switch this loop off, and register another one.",
            fields={name: ["It stays as it was registered."] for name in moved},
        )
    if changes.get("is_enabled"):
        _raise_if_not_for_a_loop(row.owner, row.provider)
    with transaction.atomic():
        changed = change_row(
            actor, Loop, row_id, changes, action="loop.changed", expected_updated_at=expected_updated_at
        )
        if not changed.is_enabled:
            # Why a loop does not run is not reported if it is switched off.
            resolve_finding(compute_loop_fingerprint(changed.owner, changed.provider), fetch_now())
    return changed


def delete_loop(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete a loop and what was declared for it. What it created stays in the zone, and keeps its owner.

    Raises as `delete_provider`."""
    raise_if_not_administrator(actor, "loops")
    delete_row(
        actor,
        Loop,
        row_id,
        action="loop.deleted",
        expected_updated_at=expected_updated_at,
        find_dependents=find_loop_dependents,
        end=Loop.delete,
    )


def _raise_if_not_for_a_loop(owner: Owner, provider: Provider) -> None:
    """Raise RefusedBySafety for an owner that is not registered, or for which an instance in a cluster may
    write at this provider."""
    if owner.status != Owner.Status.REGISTERED:
        raise RefusedBySafety(
            f"{owner.owner_id} is not registered.",
            todo="Register it first.",
            code="owner_not_registered",
        )
    instance = find_cluster_instance(owner, provider)
    if instance is not None:
        raise RefusedBySafety(
            f"{owner.owner_id} runs in the cluster {instance.cluster}: its own instance there and "
            "dnsadmin would undo each other's changes.",
            todo="Register an owner id that no instance uses.",
            code="owner_runs_in_a_cluster",
        )
