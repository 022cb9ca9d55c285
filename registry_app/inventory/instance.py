"""Register, change and delete an instance."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest
from registry_app.inventory.rows import (
    change_row,
    create_row,
    delete_row,
    fetch_row,
    raise_if_not_administrator,
)
from registry_app.models import Cluster, GuardEndpoint, Instance, Loop, Owner, RegistryProfile
from registry_app.queries.dependents import find_instance_dependents

_UNNAMED = "external-dns"


def register_instance(actor: Actor, values: Mapping[str, Any]) -> Instance:
    """Store an instance; without a name it is called after its cluster. Raises NotAllowed, or InvalidRequest
    with the fields."""
    raise_if_not_administrator(actor, "instances")
    with transaction.atomic():
        return create_instance(actor, values)


def change_instance(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> Instance:
    """Change an instance, all but its owner. Approvals that depend on it become invalid.

    Raises NotAllowed, NotFound, StateMoved, or InvalidRequest with the fields.
    """
    raise_if_not_administrator(actor, "instances")
    row = fetch_row(Instance, row_id)
    if "owner" in changes and changes["owner"] != row.owner:
        raise InvalidRequest(
            "The owner of an instance cannot be changed.",
            todo="Register an instance of the other owner, and delete this one.",
            fields={"owner": ["The owner stays as it was registered."]},
        )
    _raise_if_guarded_elsewhere(row, changes)
    _raise_if_unguarded(row, changes)
    with transaction.atomic():
        _touch_owner(row.owner_id)
        return change_row(
            actor,
            Instance,
            row_id,
            changes,
            action="instance.changed",
            expected_updated_at=expected_updated_at,
        )


def delete_instance(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete an instance that does not run any more, or never did. Its owner and all record sets stay.

    Raises as `delete_provider`."""
    raise_if_not_administrator(actor, "instances")
    delete_row(
        actor,
        Instance,
        row_id,
        action="instance.deleted",
        expected_updated_at=expected_updated_at,
        find_dependents=find_instance_dependents,
        end=_end_instance,
    )


def create_instance(actor: Actor, values: Mapping[str, Any]) -> Instance:
    """Insert an instance, inside the caller's transaction and under its permission."""
    owner, cluster = values.get("owner"), values.get("cluster")
    named = dict(values)
    _raise_if_unguarded(None, values)
    if isinstance(owner, Owner):
        _touch_owner(owner.pk)
        named["name"] = str(values.get("name") or "").strip() or _choose_name(owner, cluster)
    return create_row(actor, Instance, named, action="instance.registered")


def _raise_if_guarded_elsewhere(row: Instance, changes: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for a provider at which the instance does not have its guard endpoint."""
    provider = changes.get("provider")
    if provider is None or provider == row.provider:
        return
    if endpoint := row.guard_endpoints.exclude(provider=provider).first():
        raise InvalidRequest(
            f"The instance talks to another provider through the guard endpoint {endpoint}.",
            todo="Delete that guard endpoint first.",
            fields={"provider": [f"The guard endpoint {endpoint} is at another provider."]},
        )


def _raise_if_unguarded(row: Instance | None, values: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for a registry profile behind the guard, where no guard stands between the
    instance and its provider: it would write its claims into the zone. A loop needs none."""
    profile = values.get("registry_profile")
    if not isinstance(profile, RegistryProfile) or not profile.registry.is_behind_guard:
        return
    provider = profile.providers.first()
    endpoints = list(row.guard_endpoints.all()) if row is not None else []
    if endpoints and all(
        each.provider_id == getattr(provider, "pk", None) and each.mode != GuardEndpoint.Mode.OBSERVE
        for each in endpoints
    ):
        return
    owner, cluster = (
        values.get(name, getattr(row, name, None) if row is not None else None)
        for name in ("owner", "cluster")
    )
    if cluster is None and not endpoints and Loop.objects.filter(owner=owner, provider=provider).exists():
        return
    needed = f"All its guard endpoints must be at {provider}, one at least, and none in the mode observe."
    raise InvalidRequest(
        f"The registry profile {profile} is for instances behind the guard.",
        todo=f"Register a guard endpoint of the instance at {provider}, set its mode to enforce, point the "
        "instance to it, and choose the registry profile then.",
        fields={"registry_profile": [needed]},
    )


def _touch_owner(owner_pk: int) -> None:
    """Give an owner another version, because its instances changed. Two changes at the same time wait here
    for each other."""
    Owner.objects.filter(pk=owner_pk).update(updated_at=timezone.now())


def _choose_name(owner: Owner, cluster: Cluster | None) -> str:
    wanted = cluster.name if isinstance(cluster, Cluster) else _UNNAMED
    taken = set(Instance.objects.filter(owner=owner).values_list("name", flat=True))
    candidates = (f"{wanted[:90]}-{number}" for number in range(2, len(taken) + 3))
    return wanted if wanted not in taken else next(name for name in candidates if name not in taken)


def _end_instance(row: Instance) -> None:
    _touch_owner(row.owner_id)
    row.delete()
