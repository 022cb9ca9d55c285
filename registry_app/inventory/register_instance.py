"""Register an instance of an owner."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from registry_app.actor import Actor
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.models import Cluster, Instance, Owner

_UNNAMED = "external-dns"


def register_instance(actor: Actor, values: Mapping[str, Any]) -> Instance:
    """Store an instance; without a name it is called after its cluster. Raises NotAllowed, or InvalidRequest
    with the fields."""
    raise_if_not_administrator(actor, "instances")
    with transaction.atomic():
        return create_instance(actor, values)


def create_instance(actor: Actor, values: Mapping[str, Any]) -> Instance:
    """Insert an instance, inside the caller's transaction and under its permission."""
    owner, cluster = values.get("owner"), values.get("cluster")
    named = dict(values)
    if isinstance(owner, Owner):
        touch_owner(owner.pk)
        named["name"] = str(values.get("name") or "").strip() or _choose_name(owner, cluster)
    return create_row(actor, Instance, named, action="instance.registered")


def touch_owner(owner_pk: int) -> None:
    """Give an owner another version: what is shown of it, and its instances, changed. Of two who change
    them at the same time one waits for the other here."""
    Owner.objects.filter(pk=owner_pk).update(updated_at=timezone.now())


def _choose_name(owner: Owner, cluster: Cluster | None) -> str:
    wanted = cluster.name if isinstance(cluster, Cluster) else _UNNAMED
    taken = set(Instance.objects.filter(owner=owner).values_list("name", flat=True))
    candidates = (f"{wanted[:90]}-{number}" for number in range(2, len(taken) + 3))
    return wanted if wanted not in taken else next(name for name in candidates if name not in taken)
