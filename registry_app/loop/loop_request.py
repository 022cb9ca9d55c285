"""What one run of a loop is to do, and the request of a person to run one now."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction

from providers.planning.planned_changes import DEFAULT_MANAGED_TYPES, Policy
from providers.wire.endpoint import KNOWN_RECORD_TYPES, Endpoint
from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotAllowed, NotFound, RefusedBySafety
from registry_app.models import PROVIDER_SECRETS, Loop, Owner, Provider
from registry_app.queries.loop import fetch_declared, may_ask_for_run

DECLARED = "declared endpoints"


@dataclass(frozen=True)
class LoopRequest:
    """An owner and the endpoints it desires at a provider. `source` is text: where `desired` comes from;
    `confirmation` is the text a person typed, if a plan needed one. `on_behalf_of` is the requester, whose
    rights every changed name needs; None: the schedule, or the shell. `loop` is None for a run from files."""

    owner: Owner
    provider: Provider
    desired: tuple[Endpoint, ...]
    source: str
    policy: Policy = Policy.SYNC
    managed_types: frozenset[str] = DEFAULT_MANAGED_TYPES
    loop: Loop | None = None
    confirmation: str = ""
    on_behalf_of: Actor | None = None


def parse_managed_types(texts: Iterable[str]) -> frozenset[str]:
    """Record types in any case. Raises InvalidRequest for one that ExternalDNS does not know, or none."""
    kinds = frozenset(text.strip().upper() for text in texts if text.strip())
    unknown = sorted(kinds - set(KNOWN_RECORD_TYPES))
    if unknown or not kinds:
        known = ", ".join(KNOWN_RECORD_TYPES)
        what = f"{', '.join(unknown)[:100]}: no such record type." if unknown else "No record type was named."
        raise InvalidRequest(what, fields={"managed_types": [f"Name one or more of {known}."]})
    return kinds


def find_loop(loop_id: int) -> Loop:
    """The loop with this primary key. Raises NotFound."""
    found = (
        Loop.objects.select_related("owner", "provider").defer(*PROVIDER_SECRETS).filter(pk=loop_id).first()
    )
    if found is None:
        raise NotFound(f"There is no loop {loop_id}.", todo="Look it up in the list.")
    return found


def build_request(loop: Loop, confirmation: str = "") -> LoopRequest:
    """A run of this loop as it is declared now."""
    return LoopRequest(
        owner=loop.owner,
        provider=loop.provider,
        desired=fetch_declared(loop),
        source=DECLARED,
        policy=Policy(loop.policy),
        managed_types=parse_managed_types(loop.managed_types),
        loop=loop,
        confirmation=confirmation,
    )


def request_loop_run(actor: Actor, loop_id: int, *, confirmation: str = "") -> Loop:
    """Make the next run due. `confirmation` is the text that a plan needs; it is for that run alone. The
    run does nothing unless `actor` may change every name of its plan by then.

    Raises NotFound, NotAllowed, RefusedBySafety (it is switched off).
    """
    loop = find_loop(loop_id)
    if not may_ask_for_run(actor, loop.provider, loop.owner):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not run {loop}.",
            todo="Ask an administrator for a grant, or somebody who has one.",
        )
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
