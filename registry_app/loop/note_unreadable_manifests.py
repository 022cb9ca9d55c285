"""Manifests that cannot be taken are told of where people look, not only at the shell that read them."""

from django.db import transaction

from registry_app.clock import fetch_now
from registry_app.models import Owner, Provider
from registry_app.reconcile.findings.loops import draft_unreadable_manifests
from registry_app.reconcile.store_findings import open_finding


def note_unreadable_manifests(owner: Owner, provider: Provider, problem: str) -> None:
    """Open the finding of this owner's loop; its next good run resolves it."""
    draft = draft_unreadable_manifests(owner, provider, problem)
    with transaction.atomic():
        open_finding(provider.pk, draft, fetch_now(), {owner.owner_id: owner.pk})
