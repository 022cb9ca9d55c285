"""The one way a transfer changes its status: by compare-and-swap, with its audit line."""

from collections.abc import Collection
from typing import Any

from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import StateMoved
from registry_app.models import Transfer
from registry_app.transfer.name_transfer import name_transfer

_STATUS = Transfer.Status


def advance(
    transfer: Transfer,
    *,
    before: Collection[str],
    after: str,
    actor: Actor,
    reason: str = "",
    action: str = "",
    counts: dict[str, int] | None = None,
    **fields: Any,
) -> Transfer:
    """Move `transfer` from one of `before` to `after` and write one audit line, in one transaction.

    `fields` are further columns that change with it. `action` is what the audit calls it, after the new
    status unless said. A transfer that is over gives its names free.
    Raises StateMoved if its status is none of `before` any more: somebody was first.
    """
    with transaction.atomic():
        now = fetch_now()
        if after not in Transfer.OPEN_STATUSES:
            fields.setdefault("finished_at", now)
        was = Transfer.objects.filter(pk=transfer.pk).values_list("status", flat=True).first()
        moved = Transfer.objects.filter(pk=transfer.pk, status=was, status__in=before).update(
            status=after, updated_at=now, **fields
        )
        if not moved:
            raise _moved(transfer, was)
        if after not in Transfer.OPEN_STATUSES:
            transfer.items.filter(lock_key__isnull=False).update(lock_key=None)
        crash_point(f"transfer.becoming_{after}")
        record_audit(
            actor,
            action or f"transfer.{after}",
            transfer,
            reason=reason,
            before={"status": was},
            after={"status": after, **(counts or {})},
        )
    transfer.refresh_from_db()
    return transfer


def _moved(transfer: Transfer, was: str | None) -> StateMoved:
    label = _STATUS(was).label.lower() if was else "gone"
    return StateMoved(
        f"{name_transfer(transfer).capitalize()} is {label} now.",
        now="This request changed nothing.",
        todo="Open the transfer again: another person or its worker changed it first.",
    )
