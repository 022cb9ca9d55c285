"""A hand-over's row: found by its id, moved to another status by compare-and-swap."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import NotFound, StateMoved
from registry_app.models import HandOver
from registry_app.transfer.transfer_row import find_by_public_id


def find_hand_over(public_id: UUID | str | int) -> HandOver:
    """The hand-over with this public id (or, for a number, this primary key). Raises NotFound."""
    rows = HandOver.objects.select_related("provider", "from_owner", "to_owner")
    found = find_by_public_id(rows, public_id)
    if found is None:
        raise NotFound(f"There is no hand-over {str(public_id)[:50]}.", todo="Open the list of hand-overs.")
    return found


def advance_row(
    actor: Actor,
    row: HandOver,
    before: Collection[str],
    after: str,
    *,
    action: str = "",
    reason: str = "",
    about: str = "",
    expected: Mapping[str, Any] | None = None,
    **fields: Any,
) -> HandOver:
    """Move it from one of `before` to another status, with one audit entry, whose reason is `about` where the
    row itself has none. Raises StateMoved if its status
    or wave, or an `expected` column, is another one by now."""
    now = fetch_now()
    if after not in HandOver.UNFINISHED_STATUSES:
        fields["finished_at"] = now
    with transaction.atomic():
        same = HandOver.objects.filter(pk=row.pk, status=row.status, wave=row.wave, **(expected or {}))
        moved = row.status in before and same.update(
            status=after, status_reason=reason.strip(), updated_at=now, next_run_at=None, **fields
        )
        if not moved:
            raise _moved(row, before)
        record_audit(
            actor,
            action or f"hand_over.{after}",
            row,
            reason=reason.strip() or about,
            before={"status": row.status, "wave": row.wave},
            after={"status": after, "wave": fields.get("wave", row.wave)},
        )
    row.refresh_from_db()
    return row


def _moved(row: HandOver, before: Collection[str]) -> StateMoved:
    was = HandOver.objects.filter(pk=row.pk).values_list("status", flat=True).first()
    label = HandOver.Status(was).label.lower() if was else "gone"
    now = "changed a moment ago" if was in before else f"is {label} now"
    return StateMoved(
        f"Hand-over #{row.pk} {now}.",
        now="This request changed nothing.",
        todo="Open the hand-over again: another person or a worker changed it first.",
    )
