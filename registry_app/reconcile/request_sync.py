"""A person wants a provider synced now: it is due at once, and a worker finds it."""

from django.db import transaction

from registry_app.actor import Actor
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.errors import NotAllowed, RefusedBySafety
from registry_app.models import Provider
from registry_app.queries.access import may_operate
from registry_app.reconcile.find_subject import find_provider


def request_sync(actor: Actor, provider_id: int) -> Provider:
    """Make the next sync due; it will have a row of its own, with their name. Raises NotFound, NotAllowed,
    RefusedBySafety (it is switched off)."""
    provider = find_provider(provider_id)
    if not may_operate(actor, provider):
        raise NotAllowed(
            f"{actor.name} may not sync {provider}.",
            todo="Ask somebody with a grant to operate this provider.",
        )
    if not provider.is_enabled:
        raise RefusedBySafety(
            f"{provider} is not synced: its sync is off.",
            todo="Turn on its sync first.",
            code="provider_disabled",
        )
    now = fetch_now()
    with transaction.atomic():
        Provider.objects.filter(pk=provider.pk).update(next_sync_at=now, sync_requested_by=actor.name[:200])
        record_audit(actor, "provider.visit_requested", provider)
    provider.next_sync_at = now
    return provider
