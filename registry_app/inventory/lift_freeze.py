"""Lift a freeze."""

from django.db import transaction
from django.db.models import Q

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import StateMoved
from registry_app.inventory.freeze import raise_if_may_not_freeze
from registry_app.inventory.rows import fetch_row
from registry_app.models import Freeze


def lift_freeze(actor: Actor, freeze_id: int, *, reason: str = "") -> Freeze:
    """End a freeze now (one that has not begun ends as it starts). Raises StateMoved if it is over."""
    row = fetch_row(Freeze, freeze_id)
    raise_if_may_not_freeze(actor, row.provider)
    now = max(fetch_now(), row.starts_at)
    with transaction.atomic():
        still_on = Freeze.objects.filter(Q(ends_at=None) | Q(ends_at__gt=now), pk=freeze_id)
        if not still_on.update(ends_at=now):
            raise StateMoved("This freeze is over already.", todo="Nothing is left to do.")
        before = None if row.ends_at is None else row.ends_at.isoformat()
        record_audit(
            actor,
            "freeze.lifted",
            row,
            reason=reason,
            before={"ends_at": before},
            after={"ends_at": now.isoformat()},
        )
    row.refresh_from_db()
    return row
