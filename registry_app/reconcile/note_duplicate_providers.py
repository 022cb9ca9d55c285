"""Providers that are registered at one address under several names: a finding while they are synced."""

from django.db import IntegrityError, transaction

from registry_app.clock import fetch_now
from registry_app.models import Finding
from registry_app.queries.same_address import find_duplicates
from registry_app.reconcile.findings.draft import Kind
from registry_app.reconcile.findings.providers import draft_duplicate
from registry_app.reconcile.store_findings import open_finding, resolve_findings


def note_duplicate_providers() -> None:
    """Open a finding for each that is not the first at its address; resolve those that hold no more. May run
    inside the caller's transaction. Two queries where nothing changed."""
    now = fetch_now()
    drafts = {pk: draft_duplicate(name, others) for pk, (name, others) in find_duplicates().items()}
    told = Finding.objects.filter(kind=Kind.DUPLICATE_PROVIDER).exclude(state=Finding.State.RESOLVED)
    known = {
        provider_id: (pk, explanation)
        for pk, provider_id, explanation in told.values_list("pk", "provider_id", "explanation")
    }
    with transaction.atomic():
        resolve_findings([pk for provider_id, (pk, _) in known.items() if provider_id not in drafts], now)
        for provider_id, draft in drafts.items():
            if provider_id in known and known[provider_id][1] == draft.explanation:
                continue
            try:
                with transaction.atomic():
                    open_finding(provider_id, draft, now)
            except IntegrityError:
                continue  # somebody else opened it at this moment
