"""A transfer's row: found by its id, named in a sentence, moved to another status by compare-and-swap."""

import hashlib
from collections.abc import Collection, Mapping
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import Model, QuerySet

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import NotFound, StateMoved
from registry_app.metrics import TRANSFER_CHANGES
from registry_app.models import Transfer

AnyRow = TypeVar("AnyRow", bound=Model)
_STATUS = Transfer.Status


def find_transfer(public_id: UUID | str | int) -> Transfer:
    """The transfer with this public id (or, for a number, this primary key). Raises NotFound."""
    rows = Transfer.objects.select_related("provider", "source_owner", "target_owner")
    found = find_by_public_id(rows, public_id)
    if found is None:
        raise NotFound(f"There is no transfer {str(public_id)[:50]}.", todo="Open the list of transfers.")
    return found


def find_by_public_id(rows: QuerySet[AnyRow], public_id: UUID | str | int) -> AnyRow | None:
    """The row with this `public_id` or, for a number, this primary key; None where there is none."""
    if isinstance(public_id, int):
        return rows.filter(pk=public_id).first()
    try:
        parsed = public_id if isinstance(public_id, UUID) else UUID(public_id)
    except ValueError:
        return None
    return rows.filter(public_id=parsed).first()


def name_transfer(transfer: Transfer) -> str:
    """The number that people see, and the id that programs use: `transfer #12 (c0a2…)`."""
    return f"transfer #{transfer.pk} ({transfer.public_id})"


def advance(
    transfer: Transfer,
    *,
    before: Collection[str],
    after: str,
    actor: Actor,
    reason: str = "",
    action: str = "",
    counts: dict[str, int] | None = None,
    expected: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Transfer:
    """Move `transfer` from one of `before` to `after` and write one audit line, in one transaction.

    `fields` are further columns that change with it, `expected` those that must still be as read. `action`
    is the action in the audit trail, by default that of the new status. A transfer that is over releases the
    locks on its names. Raises StateMoved if its status is none of `before` any more, or a column is not as
    expected: somebody was first.
    """
    with transaction.atomic():
        now = fetch_now()
        if after not in Transfer.OPEN_STATUSES:
            fields.setdefault("finished_at", now)
        was = Transfer.objects.filter(pk=transfer.pk).values_list("status", flat=True).first()
        same = Transfer.objects.filter(pk=transfer.pk, status=was, status__in=before, **(expected or {}))
        moved = same.update(status=after, updated_at=now, **fields)
        if not moved:
            raise _moved(transfer, was, before)
        if after not in Transfer.OPEN_STATUSES:
            transfer.items.filter(lock_key__isnull=False).update(lock_key=None)
        crash_point(f"transfer.becoming_{after}")
        name, values = action or f"transfer.{after}", {"status": after, **(counts or {})}
        record_audit(actor, name, transfer, reason=reason, before={"status": was}, after=values)
        transaction.on_commit(TRANSFER_CHANGES.labels(str(after)).inc, robust=True)
    transfer.refresh_from_db()
    return transfer


def _moved(transfer: Transfer, was: str | None, before: Collection[str]) -> StateMoved:
    label = _STATUS(was).label.lower() if was else "gone"
    now = "changed a moment ago" if was in before else f"is {label} now"
    return StateMoved(
        f"{name_transfer(transfer).capitalize()} {now}.",
        now="This request changed nothing.",
        todo="Open the transfer again: another person or its worker changed it first.",
    )


def compute_lock_key(provider_id: int, name: str) -> str:
    """One key for each name of a provider: claims of one name share TXT records, whatever their types."""
    return hashlib.blake2b(f"{provider_id}\n{name}".encode(), digest_size=16).hexdigest()
