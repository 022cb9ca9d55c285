"""Freeze one provider, or all; lift and delete freezes."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed, StateMoved
from registry_app.inventory.rows import fetch_row
from registry_app.models import Freeze, Provider
from registry_app.queries.access import may_administer, may_operate


def freeze(
    actor: Actor,
    *,
    provider_id: int | None,
    reason: str,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
) -> Freeze:
    """Store a freeze, from now, or from `starts_at`. Without a provider it freezes all.

    Raises NotAllowed, NotFound, or InvalidRequest (no reason, or an end before its start).
    """
    provider = None if provider_id is None else fetch_row(Provider, provider_id)
    _raise_if_may_not_freeze(actor, provider)
    start = starts_at or fetch_now()
    if not reason.strip():
        raise InvalidRequest("A freeze needs a reason.", fields={"reason": ["Give a reason."]})
    if ends_at is not None and ends_at <= start:
        raise InvalidRequest(
            "The freeze would end before it starts.", fields={"ends_at": ["Choose a later end."]}
        )
    with transaction.atomic():
        row = Freeze.objects.create(
            provider=provider, reason=reason, starts_at=start, ends_at=ends_at, created_by=actor.name
        )
        record_audit(actor, "freeze.started", row, reason=reason, after=_audit_values(row))
    return row


def lift_freeze(actor: Actor, freeze_id: int, *, reason: str = "") -> Freeze:
    """End a freeze now (one that has not begun ends as it starts). Raises StateMoved if it is over."""
    row = fetch_row(Freeze, freeze_id)
    _raise_if_may_not_freeze(actor, row.provider)
    now = max(fetch_now(), row.starts_at)
    with transaction.atomic():
        still_on = Freeze.objects.filter(Q(ends_at=None) | Q(ends_at__gt=now), pk=freeze_id)
        if not still_on.update(ends_at=now):
            raise StateMoved("This freeze has already ended.", todo="There is nothing to do.")
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


def delete_freeze(actor: Actor, freeze_id: int) -> None:
    """Delete a freeze that has not started. Raises NotAllowed, NotFound, or StateMoved once it has started:
    what was in force stays in the list."""
    row = fetch_row(Freeze, freeze_id)
    _raise_if_may_not_freeze(actor, row.provider)
    with transaction.atomic():
        record_audit(actor, "freeze.deleted", row, before={**_audit_values(row), "reason": row.reason})
        deleted, _ = Freeze.objects.filter(pk=freeze_id, starts_at__gt=fetch_now()).delete()
        if not deleted:
            raise StateMoved(
                f"This freeze started at {row.starts_at:%Y-%m-%d %H:%M} UTC and cannot be deleted any more.",
                todo="Lift it to end it now.",
            )


def _raise_if_may_not_freeze(actor: Actor, provider: Provider | None) -> None:
    """Raise NotAllowed unless `actor` operates the provider, or administers (for all providers)."""
    allowed = may_administer(actor) if provider is None else may_operate(actor, provider)
    if not allowed:
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not freeze {provider or 'all providers'}.",
            todo="Ask an administrator, or somebody with a grant to operate this provider.",
        )


def _audit_values(row: Freeze) -> dict[str, str | None]:
    return {
        "provider": None if row.provider is None else row.provider.name,
        "starts_at": row.starts_at.isoformat(),
        "ends_at": None if row.ends_at is None else row.ends_at.isoformat(),
    }
