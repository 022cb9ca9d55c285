"""Give a group a right, and take it back."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.errors import InvalidRequest
from registry_app.inventory.rows import build_audit_values, create_row, fetch_row, raise_if_not_administrator
from registry_app.models import Grant
from registry_app.queries.named_row import read_name

_NAMES = ("group", "action", "provider", "owner", "name_suffix")


def add_grant(actor: Actor, values: Mapping[str, Any]) -> Grant:
    """Store a grant. Raises NotAllowed, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "grants")
    suffix = str(values.get("name_suffix") or "")
    return create_row(actor, Grant, {**values, "name_suffix": _read_suffix(suffix)}, action="grant.added")


def remove_grant(actor: Actor, grant_id: int, *, reason: str = "") -> None:
    """Delete a grant; what was begun under it goes on. Raises NotAllowed or NotFound."""
    raise_if_not_administrator(actor, "grants")
    with transaction.atomic():
        row = fetch_row(Grant, grant_id)
        before = build_audit_values(row, dict.fromkeys(_NAMES))
        record_audit(actor, "grant.removed", row, reason=reason, before=before)
        row.delete()


def _read_suffix(text: str) -> str:
    # An empty suffix means any name. One that is empty only when read, such as a single dot, does not.
    suffix = read_name(text)
    if text and not suffix:
        message = f"{text!r} is no DNS name. Enter one such as example.org, or leave it empty for any name."
        raise InvalidRequest("The grant cannot be added.", fields={"name_suffix": [message]})
    return suffix
