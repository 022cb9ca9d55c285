"""Change an owner."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, RefusedBySafety
from registry_app.inventory.change_instance import change_instance
from registry_app.inventory.decommission import raise_if_still_owns
from registry_app.inventory.register_instance import create_instance
from registry_app.inventory.register_owner import INSTANCE_FIELDS, says_anything, split_instance_values
from registry_app.inventory.rows import change_row, fetch_row, raise_if_not_administrator
from registry_app.models import Owner


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
    several instances and nobody can tell which one is meant, or StillOwns where it is to be decommissioned
    and owns record sets, unless `keep_record_sets` is among the changes and true.
    """
    raise_if_not_administrator(actor, "owners")
    own, of_instance = split_instance_values(changes)
    _raise_if_renamed(row_id, own)
    keeps = bool(own.pop("keep_record_sets", False))
    reason = ""
    if own.get("status") == Owner.Status.DECOMMISSIONED:
        reason = raise_if_still_owns(fetch_row(Owner, row_id), keeps_record_sets=keeps)
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
        if of_instance:
            _change_only_instance(actor, owner, of_instance)
    return owner


def _change_only_instance(actor: Actor, owner: Owner, values: Mapping[str, Any]) -> None:
    # The owner's version was taken before: nobody adds or removes an instance meanwhile.
    known = list(owner.instances.values_list("pk", flat=True)[:2])
    if len(known) > 1:
        raise RefusedBySafety(
            f"{owner.owner_id} has several instances, and nobody can tell which one is meant.",
            todo=f"Change the instance itself, under Instances or at /api/v1/instances/: "
            f"{', '.join(INSTANCE_FIELDS)} are what each of them says.",
            code="several_instances",
        )
    if known:
        change_instance(actor, known[0], values)
    elif says_anything(values):
        create_instance(actor, {"owner": owner, **values})


def _raise_if_renamed(row_id: int, changes: Mapping[str, Any]) -> None:
    # Record sets, claims and reviewed transfers point to the row: under another id they would tell of an
    # owner that no zone names.
    owner_id = changes.get("owner_id")
    if owner_id is None or owner_id == fetch_row(Owner, row_id).owner_id:
        return
    raise InvalidRequest(
        "An owner id is what the claims in the zones say, and cannot be changed here.",
        todo="Register the other owner id, and transfer the record sets to it.",
        fields={"owner_id": ["The owner id of an owner that exists cannot be changed."]},
    )
