"""A person wants a loop to run now: it is due at once, and a worker finds it."""

from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import NotAllowed, RefusedBySafety
from registry_app.loop.declared import find_loop
from registry_app.models import Loop
from registry_app.queries.loop_access import may_ask_for_run


def request_loop_run(actor: Actor, loop_id: int, *, confirmation: str = "") -> Loop:
    """Make the next run due. `confirmation` is the text a plan asked for; it is good for that run alone. The
    run does nothing unless `actor` may change every name of its plan by then.

    Raises NotFound, NotAllowed, RefusedBySafety (it is switched off).
    """
    loop = find_loop(loop_id)
    raise_if_may_not_run(actor, loop)
    if not loop.is_enabled:
        raise RefusedBySafety(f"{loop} is switched off.", todo="Switch it on first.", code="loop_disabled")
    now = fetch_now()
    with transaction.atomic():
        Loop.objects.filter(pk=loop.pk).update(
            next_run_at=now,
            requested_by=actor.name[:200],
            requester_id=actor.user_id,
            requester_issuer_id=actor.answerer_id,
            confirmation=confirmation[:500],
        )
        record_audit(actor, "loop.run_requested", loop, reason=confirmation)
    loop.refresh_from_db()
    return loop


def raise_if_may_not_run(actor: Actor, loop: Loop) -> None:
    """Raise NotAllowed unless `actor` may run this loop, as far as that is known before its plan is."""
    if not may_ask_for_run(actor, loop.provider, loop.owner):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not run {loop}.",
            todo="Ask an administrator for a grant, or somebody who has one.",
        )
