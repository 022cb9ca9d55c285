"""A person knows of a finding: it stays, out of the way."""

from datetime import datetime

from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.errors import NotAllowed, StateMoved
from registry_app.models import Finding
from registry_app.queries.access import may_acknowledge
from registry_app.reconcile.find_subject import find_finding
from registry_app.reconcile.kept_counts import noting_changes


def acknowledge_finding(
    actor: Actor, finding_id: int, *, muted_until: datetime | None = None, reason: str = ""
) -> Finding:
    """Acknowledge, and mute until then if a time is given: should it go and come back before, it comes back
    acknowledged. Acknowledging again changes the time.

    Raises NotFound, NotAllowed, StateMoved (it was resolved meanwhile).
    """
    finding = find_finding(finding_id)
    if not may_acknowledge(actor, finding):
        raise NotAllowed(
            f"{actor.name} may not acknowledge this finding.",
            todo="Ask somebody with a grant to operate what it is about.",
        )
    before = {"state": finding.state, "muted_until": _format(finding.muted_until)}
    rows = Finding.objects.filter(pk=finding.pk)
    unresolved = rows.exclude(state=Finding.State.RESOLVED)
    with transaction.atomic(), noting_changes(rows):
        if not unresolved.update(
            state=Finding.State.ACKNOWLEDGED, acknowledged_by=actor.name[:200], muted_until=muted_until
        ):
            raise StateMoved("The finding is already resolved.", todo="Nothing to do. Reload the list.")
        record_audit(
            actor,
            "finding.acknowledged",
            finding,
            reason=reason,
            before=before,
            after={"state": Finding.State.ACKNOWLEDGED.value, "muted_until": _format(muted_until)},
        )
    finding.refresh_from_db()
    return finding


def _format(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
