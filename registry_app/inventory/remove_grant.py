"""Take a right from a group."""

from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.inventory.rows import build_audit_values, fetch_row, raise_if_not_administrator
from registry_app.models import Grant

_NAMES = ("group", "action", "provider", "owner", "name_suffix")


def remove_grant(actor: Actor, grant_id: int, *, reason: str = "") -> None:
    """Delete a grant; what was begun under it goes on. Raises NotAllowed or NotFound."""
    raise_if_not_administrator(actor, "grants")
    with transaction.atomic():
        row = fetch_row(Grant, grant_id)
        before = build_audit_values(row, dict.fromkeys(_NAMES))
        record_audit(actor, "grant.removed", row, reason=reason, before=before)
        row.delete()
