"""Change a loop."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest
from registry_app.inventory.register_loop import raise_if_not_dnsadmins
from registry_app.inventory.rows import change_row, fetch_row, raise_if_not_administrator
from registry_app.models import Loop
from registry_app.reconcile.findings.loops import compute_loop_fingerprint
from registry_app.reconcile.store_findings import resolve_finding

_FIXED = ("owner", "provider")


def change_loop(
    actor: Actor,
    row_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> Loop:
    """Change a loop, all but its owner and provider.

    Raises NotAllowed, NotFound, StateMoved, RefusedBySafety, or InvalidRequest with the fields.
    """
    raise_if_not_administrator(actor, "loops")
    row = fetch_row(Loop, row_id)
    moved = [name for name in _FIXED if name in changes and changes[name] != getattr(row, name)]
    if moved:
        raise InvalidRequest(
            "Whose loop it is, and where, cannot be changed.",
            todo="Switch this one off, and register another.",
            fields={name: ["It stays what it was registered with."] for name in moved},
        )
    if changes.get("is_enabled"):
        raise_if_not_dnsadmins(row.owner, row.provider)
    with transaction.atomic():
        changed = change_row(
            actor, Loop, row_id, changes, action="loop.changed", expected_updated_at=expected_updated_at
        )
        if not changed.is_enabled:
            # What keeps a loop from running that is not to run, nobody needs to know.
            resolve_finding(compute_loop_fingerprint(changed.owner, changed.provider), fetch_now())
    return changed
