"""Providers that should have been synced and were not: the workers are down, or too few."""

from django.db import transaction

from registry_app.clock import fetch_now
from registry_app.models import Finding
from registry_app.queries.provider import SILENT_INTERVALS, find_silent
from registry_app.reconcile.failure import draft_failing, failing_fingerprint
from registry_app.reconcile.store_findings import open_finding


def note_silent_providers() -> int:
    """Open a finding for each that has none; the next sync that succeeds resolves it."""
    now = fetch_now()
    silent = find_silent(now)
    fingerprints = {failing_fingerprint(provider.pk): provider for provider in silent}
    known = Finding.objects.filter(fingerprint__in=list(fingerprints)).exclude(state=Finding.State.RESOLVED)
    told = {bytes(fingerprint) for fingerprint in known.values_list("fingerprint", flat=True)}
    untold = [provider for fingerprint, provider in fingerprints.items() if fingerprint not in told]
    for provider in untold:
        explanation = (
            f"{provider.name} was not synced for {SILENT_INTERVALS} of its intervals. Check that "
            "workers run, and that there are enough of them."
        )
        with transaction.atomic():
            open_finding(provider.pk, draft_failing(explanation, "silent"), now)
    return len(untold)
