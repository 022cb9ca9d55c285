"""Register, change, decommission and delete an owner."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from registry_app.actor import SYSTEM, Actor
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, RefusedBySafety
from registry_app.inventory.instance import change_instance, create_instance
from registry_app.inventory.rows import (
    change_row,
    create_row,
    delete_row,
    fetch_row,
    raise_if_not_administrator,
)
from registry_app.models import Grant, Instance, InstancePolicy, Owner
from registry_app.queries.dependents import find_owner_dependents
from registry_app.queries.owner import describe_owned

INSTANCE_FIELDS = ("policy", "cluster", "registry_profile")


def register_owner(actor: Actor, values: Mapping[str, Any]) -> Owner:
    """Store an owner, by default as registered, and its instance if `values` have any fields of
    one. An owner that was only seen in claims, or was decommissioned, has its row already, and that is
    registered. Raises NotAllowed, InvalidRequest, or RefusedBySafety where it has
    several instances."""
    raise_if_not_administrator(actor, "owners")
    own, of_instance = _split_instance_values({"status": Owner.Status.REGISTERED, **values})
    seen = Owner.objects.filter(owner_id=own.get("owner_id")).exclude(status=Owner.Status.REGISTERED)
    with transaction.atomic():
        if (row := seen.first()) is not None:
            owner = change_row(actor, Owner, row.pk, own, action="owner.registered")
        else:
            owner = create_row(actor, Owner, own, action="owner.registered")
        _set_only_instance(actor, owner, of_instance)
    return owner


def change_owner(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> Owner:
    """Change an owner, all but its owner id; policy, cluster and registry profile go to its only instance,
    which is registered where there is none.

    Raises NotAllowed, NotFound, StateMoved, InvalidRequest with the fields, RefusedBySafety where it has
    several instances and it is not known which one is meant, or StillOwns where it is to be decommissioned
    and owns record sets, unless `keep_record_sets` is among the changes and true.
    """
    raise_if_not_administrator(actor, "owners")
    own, of_instance = _split_instance_values(changes)
    _raise_if_renamed(row_id, own)
    keeps = bool(own.pop("keep_record_sets", False))
    reason = ""
    if own.get("status") == Owner.Status.DECOMMISSIONED:
        reason = _raise_if_still_owns(fetch_row(Owner, row_id), keeps_record_sets=keeps)
    with transaction.atomic():
        owner = change_row(
            actor,
            Owner,
            row_id,
            own,
            action="owner.changed",
            expected_updated_at=expected_updated_at,
            reason=reason,
        )
        _set_only_instance(actor, owner, of_instance)
    return owner


def delete_owner(actor: Actor, row_id: int, *, expected_updated_at: datetime | None = None) -> None:
    """Delete an owner that owns nothing, and the grants for it. Raises as `delete_provider`."""
    raise_if_not_administrator(actor, "owners")
    delete_row(
        actor,
        Owner,
        row_id,
        action="owner.deleted",
        expected_updated_at=expected_updated_at,
        find_dependents=find_owner_dependents,
        end=_end_owner,
    )


def _raise_if_renamed(row_id: int, changes: Mapping[str, Any]) -> None:
    # Record sets, claims and reviewed transfers point to the row: under another id they would name an
    # owner that no zone names.
    owner_id = changes.get("owner_id")
    if owner_id is None or owner_id == fetch_row(Owner, row_id).owner_id:
        return
    raise InvalidRequest(
        "The claims in the zones have the owner id, so it cannot be changed here.",
        todo="Register the other owner id, and transfer the record sets to it.",
        fields={"owner_id": ["The owner id of a registered owner cannot be changed."]},
    )


class StillOwns(RefusedBySafety):
    """Record sets would stay with a decommissioned owner, and `keep_record_sets` was not given."""

    code = "owner_still_owns"


def _raise_if_still_owns(owner: Owner, *, keeps_record_sets: bool) -> str:
    """What stays with the owner, as a sentence; empty if it owns nothing.

    Raises StillOwns if it owns record sets and `keeps_record_sets` is false.
    """
    # Whoever asks: the rule is about all that it owns.
    owned = describe_owned(SYSTEM, owner)
    if owned and not keeps_record_sets and owner.status != Owner.Status.DECOMMISSIONED:
        raise StillOwns(
            f"{owner.owner_id} still owns {owned}.",
            todo="Transfer them to another owner, or release them so that nobody owns them. Or leave them "
            "as they are (API: keep_record_sets; web admin: Decommission, on the page of the owner): "
            "then no instance changes them, and they can be transferred later.",
        )
    return f"{owned} stay with it." if owned else ""


def _split_instance_values(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of the owner itself, and those of its instance."""
    own = {name: value for name, value in values.items() if name not in INSTANCE_FIELDS}
    return own, {name: value for name, value in values.items() if name in INSTANCE_FIELDS}


def _set_only_instance(actor: Actor, owner: Owner, values: Mapping[str, Any]) -> None:
    """Change the only instance of an owner; register one where there is none and any value is given.

    Inside the transaction that has the owner's version: nobody adds or removes an instance meanwhile.
    Raises RefusedBySafety where the owner has several.
    """
    known = list(owner.instances.values_list("pk", flat=True)[:2]) if values else []
    if len(known) > 1:
        raise RefusedBySafety(
            f"{owner.owner_id} has several instances, so it is not known which one is meant.",
            todo="Change the instance itself, under Instances or at /api/v1/instances/: "
            f"{', '.join(INSTANCE_FIELDS)} belong to each instance.",
            code="several_instances",
        )
    if known:
        change_instance(actor, known[0], values)
    elif any(value not in (None, "", InstancePolicy.UNKNOWN) for value in values.values()):
        create_instance(actor, {"owner": owner, **values})


def _end_owner(row: Owner) -> None:
    Instance.objects.filter(owner=row).delete()
    Owner.objects.filter(pk=row.pk).update(deleted_at=fetch_now())
    Grant.objects.filter(owner=row).delete()
