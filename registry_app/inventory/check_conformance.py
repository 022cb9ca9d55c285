"""Ask a registered provider whether it keeps its protocol."""

from django.db import transaction

from providers.conformance.observation import Report
from providers.conformance.run import run_conformance
from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.errors import LeaseLost, NotAllowed, RefusedBySafety
from registry_app.inventory.rows import fetch_row, raise_if_not_administrator
from registry_app.mirror.client import build_subject
from registry_app.models import Provider
from registry_app.outside_copy import announce_send, count_send
from registry_app.queries.access import may_operate
from registry_app.queries.send_gate import find_send_stops
from registry_app.reconcile.lease import raise_if_lost, release_lease, renew_lease, take_lease
from registry_app.reconcile.visit import name_holder

# Long enough for every question with a patient provider; a run that dies holds up visits no longer.
_LEASE_SECONDS = 600


def check_conformance(actor: Actor, provider_id: int, *, zone: str = "") -> Report:
    """A report of what the provider does. Nothing is written unless `zone` names where it may be: then
    under a label made for it, cleaned up at the end, under the provider's lease, with an audit line before.

    Raises NotAllowed, NotFound, SecretUnavailable, ProviderError for an address that must not be visited,
    RefusedBySafety in a freeze, and LeaseLost where a visit or a transfer is under way.
    """
    provider = fetch_row(Provider, provider_id)
    if zone:
        return _check_by_writing(actor, provider, zone)
    if not may_operate(actor, provider):
        raise NotAllowed(
            f"{actor.name or 'Nobody'} may not visit {provider}.",
            todo="Ask somebody who operates this provider.",
        )
    return run_conformance(build_subject(provider))


def _check_by_writing(actor: Actor, provider: Provider, zone: str) -> Report:
    raise_if_not_administrator(actor, "providers")
    for stop in find_send_stops(provider):
        raise RefusedBySafety(stop.happened, todo=f"{stop.todo} Or ask without writing.", code=stop.code)
    subject = build_subject(provider)
    lease = take_lease(provider.pk, f"conformance {name_holder()}")
    if lease is None:
        raise LeaseLost(
            f"Somebody else is at {provider} right now.", now="Nothing was written.", todo="Try again soon."
        )
    try:
        lease = renew_lease(lease, seconds=_LEASE_SECONDS)
        with transaction.atomic():
            raise_if_lost(lease)
            record_audit(actor, "provider.conformance_written", provider, after={"zone": zone})
            count_send()
        announce_send()
        return run_conformance(subject, zone=zone, patience=float(provider.read_back_seconds))
    finally:
        release_lease(lease)
