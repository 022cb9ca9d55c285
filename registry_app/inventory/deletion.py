"""Delete rows of configuration: refused with the reasons while something depends on them, audited."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic

from django.db import transaction
from django.db.models import F

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import RefusedBySafety
from registry_app.inventory.register_instance import touch_owner
from registry_app.inventory.rows import (
    Row,
    build_audit_values,
    fetch_row,
    raise_if_not_administrator,
    take_version,
)
from registry_app.models import Cluster, Grant, Instance, Loop, Owner, Provider, RegistryProfile
from registry_app.models.encrypted_field import find_secret_names
from registry_app.queries.dependents import (
    find_cluster_dependents,
    find_instance_dependents,
    find_loop_dependents,
    find_owner_dependents,
    find_profile_dependents,
    find_provider_dependents,
)
from registry_app.reconcile.note_duplicate_providers import note_duplicate_providers


def delete_provider(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete a provider. Its secrets and the grants for it go at once, its mirror within moments
    (`purge_deleted_providers`); finished transfers and runs keep its name. Nothing is sent to it.

    Raises NotAllowed, NotFound, StateMoved, or RefusedBySafety while something depends on it.
    """
    row = _Subject(Provider, "provider", row_id, expected_updated_at)
    _delete(actor, row, find_provider_dependents, _end_provider)


def delete_owner(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete an owner that owns nothing, and the grants for it. Raises as `delete_provider`."""
    row = _Subject(Owner, "owner", row_id, expected_updated_at)
    _delete(actor, row, find_owner_dependents, _end_owner)


def delete_registry_profile(
    actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None
) -> None:
    """Delete a registry profile that nobody uses, and its secrets. Raises as `delete_provider`."""
    row = _Subject(RegistryProfile, "registry profile", row_id, expected_updated_at)
    _delete(actor, row, find_profile_dependents, _end_profile)


def delete_cluster(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete a cluster in which nothing runs. Raises as `delete_provider`."""
    row = _Subject(Cluster, "cluster", row_id, expected_updated_at)
    _delete(actor, row, find_cluster_dependents, Cluster.delete)


def delete_loop(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete a loop and what was declared for it. What it created stays in the zone, as its owner's.

    Raises as `delete_provider`."""
    row = _Subject(Loop, "loop", row_id, expected_updated_at)
    _delete(actor, row, find_loop_dependents, Loop.delete)


def delete_instance(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete an instance that does not run any more, or never did. Its owner stays, and what that owns.

    Raises as `delete_provider`."""
    row = _Subject(Instance, "instance", row_id, expected_updated_at)
    _delete(actor, row, find_instance_dependents, _end_instance)


@dataclass(frozen=True)
class _Subject(Generic[Row]):
    """Which row is meant, as it was read."""

    model: type[Row]
    noun: str
    row_id: int
    expected_updated_at: datetime | None


def _delete(
    actor: Actor,
    subject: _Subject[Row],
    find_dependents: Callable[[Row], list[str]],
    end: Callable[[Row], object],
) -> None:
    raise_if_not_administrator(actor, f"{subject.noun}s")
    with transaction.atomic():
        row = fetch_row(subject.model, subject.row_id)
        # A change or another deletion at this moment waits for this one, or was first and stops it.
        take_version(row, subject.expected_updated_at)
        if dependents := find_dependents(row):
            raise RefusedBySafety(
                f"{row} cannot be deleted, because other things depend on it.",
                todo=" ".join(dependents),
                code="in_use",
            )
        entered = [field.name for field in row._meta.concrete_fields if not field.primary_key]
        before = build_audit_values(row, dict.fromkeys(entered))
        record_audit(actor, f"{subject.noun.replace(' ', '_')}.deleted", row, before=before)
        end(row)


def _end_provider(row: Provider) -> None:
    # The epoch ends the lease of a sync that is under way: what it read is not stored any more.
    Provider.objects.filter(pk=row.pk).update(
        deleted_at=fetch_now(),
        is_enabled=False,
        username="",
        lease_epoch=F("lease_epoch") + 1,
        **dict.fromkeys(find_secret_names(Provider), ""),
    )
    Grant.objects.filter(provider=row).delete()
    note_duplicate_providers()


def _end_instance(row: Instance) -> None:
    touch_owner(row.owner_id)
    row.delete()


def _end_owner(row: Owner) -> None:
    Instance.objects.filter(owner=row).delete()
    Owner.objects.filter(pk=row.pk).update(deleted_at=fetch_now())
    Grant.objects.filter(owner=row).delete()


def _end_profile(row: RegistryProfile) -> None:
    secrets = dict.fromkeys(find_secret_names(RegistryProfile), "")
    # Without a place, another profile may speak for the same store.
    RegistryProfile.objects.filter(pk=row.pk).update(
        deleted_at=fetch_now(), store_place="", is_rebuilt=False, cluster=None, **secrets
    )
