"""A person saw the difference and does not believe it: the mirror stays, and this is not asked again."""

from datetime import datetime

from registry_app.actor import Actor
from registry_app.models import HeldSnapshot
from registry_app.reconcile.decide_held_snapshot import decide_held_snapshot


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
