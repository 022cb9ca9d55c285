"""A person saw the difference and believes it: what the provider says now may become the mirror."""

from datetime import datetime

from registry_app.actor import Actor
from registry_app.models import HeldSnapshot, Provider
from registry_app.reconcile.decide_held_snapshot import decide_held_snapshot


def accept_held_snapshot(actor: Actor, held_id: int, *, reason: str, seen: str = "") -> HeldSnapshot:
    """Accept. Nothing is stored yet: the next sync, which is due at once, stores what the provider says
    then, if that is not suspicious beside this one.

    `seen` is the `body_digest` of the snapshot the person looked at: a later sync may have put another in
    its place. Raises NotFound, NotAllowed, StateMoved.
    """
    return decide_held_snapshot(
        actor, held_id, HeldSnapshot.Status.ACCEPTED, reason=reason, seen=seen, also=_make_due
    )


def _make_due(held: HeldSnapshot, now: datetime) -> None:
    Provider.objects.filter(pk=held.provider_id).update(next_sync_at=now)
