"""A person accepts or rejects a held snapshot."""

from collections.abc import Callable
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import NotAllowed, StateMoved
from registry_app.models import HeldSnapshot, Provider
from registry_app.queries.access import may_operate
from registry_app.queries.provider import last_snapshot
from registry_app.reconcile.find_subject import find_held_snapshot


def decide_held_snapshot(
    actor: Actor,
    held_id: int,
    status: HeldSnapshot.Status,
    *,
    reason: str,
    seen: str,
    also: Callable[[HeldSnapshot, datetime], None],
) -> HeldSnapshot:
    """From open to `status`, by compare-and-swap, with its audit line and whatever `also` writes.

    A rejected snapshot may still be accepted while the provider returns it: a wrong decision must not keep
    the mirror wrong for good. `seen` is the `body_digest` of what the person looked at, empty
    where a program decides on whatever is held. Raises NotFound, NotAllowed, StateMoved.
    """
    held = _find_decidable(actor, held_id)
    now = fetch_now()
    decision = {"status": status, "decided_at": now, "decided_by": actor.name[:200]}
    with transaction.atomic():
        if not _find_waiting(held, status, seen).update(**decision):
            raise StateMoved(
                f"The held snapshot {held.pk} does not wait for a decision any more, or changed since "
                "you saw it.",
                todo="Open the provider again.",
            )
        also(held, now)
        record_audit(
            actor,
            f"held_snapshot.{status.value}",
            held,
            reason=reason,
            before={"status": held.status},
            after={"status": status.value, "reasons": held.reasons},
        )
    held.refresh_from_db(fields=["status", "decided_at", "decided_by"])
    return held


def _find_waiting(held: HeldSnapshot, status: HeldSnapshot.Status, seen: str) -> "QuerySet[HeldSnapshot]":
    """The row as it was read, where it may be decided so; otherwise none."""
    if held.status != HeldSnapshot.Status.OPEN and not _may_be_taken_back(held, status):
        return HeldSnapshot.objects.none()
    # The digest too: a person decides on what they saw, not on what a later sync put in its place.
    return HeldSnapshot.objects.filter(pk=held.pk, status=held.status, body_digest=seen or held.body_digest)


def _find_decidable(actor: Actor, held_id: int) -> HeldSnapshot:
    held = find_held_snapshot(held_id)
    if not may_operate(actor, held.provider):
        raise NotAllowed(
            f"{actor.name} may not decide on snapshots of {held.provider}.",
            todo="Ask somebody with a grant to operate this provider.",
        )
    return held


def _may_be_taken_back(held: HeldSnapshot, status: HeldSnapshot.Status) -> bool:
    is_turned = (held.status, status) == (HeldSnapshot.Status.REJECTED, HeldSnapshot.Status.ACCEPTED)
    if not is_turned or held.provider.status != Provider.Status.HELD:
        return False
    last = last_snapshot(held.provider_id)
    return last is not None and last.pk == held.pk


def accept_held_snapshot(actor: Actor, held_id: int, *, reason: str, seen: str = "") -> HeldSnapshot:
    """Accept. Nothing is stored yet: the next sync, which is due at once, stores what the provider says
    then, if that is plausible beside this one.

    `seen` is the `body_digest` of the snapshot the person looked at: a later sync may have put another in
    its place. Raises NotFound, NotAllowed, StateMoved.
    """
    return decide_held_snapshot(
        actor, held_id, HeldSnapshot.Status.ACCEPTED, reason=reason, seen=seen, also=_make_due
    )


def _make_due(held: HeldSnapshot, now: datetime) -> None:
    Provider.objects.filter(pk=held.provider_id).update(next_sync_at=now)


def reject_held_snapshot(actor: Actor, held_id: int, *, reason: str, seen: str = "") -> HeldSnapshot:
    """Reject. The provider stays held until it says something normal, or something else.

    `seen` is the `body_digest` of the snapshot the person looked at: a later sync may have put another in
    its place. Raises NotFound, NotAllowed, StateMoved.
    """
    return decide_held_snapshot(
        actor, held_id, HeldSnapshot.Status.REJECTED, reason=reason, seen=seen, also=_nothing_else
    )


def _nothing_else(_held: HeldSnapshot, _now: datetime) -> None:
    """The next sync comes when it is due."""
