"""Change an owner."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest
from registry_app.inventory.decommission import raise_if_still_owns
from registry_app.inventory.only_instance import set_only_instance, split_instance_values
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
        set_only_instance(actor, owner, of_instance)
    return owner


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
