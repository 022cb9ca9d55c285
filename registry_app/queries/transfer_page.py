"""Transfers as their pages show them."""

from collections.abc import Mapping

from django.db.models import QuerySet

from registry_app.actor import Actor
from registry_app.models import Transfer


def transfers_for_display() -> QuerySet[Transfer]:
    """Transfers with what a line about them needs, and without anything secret loaded."""
    return Transfer.objects.select_related("provider", "source_owner", "target_owner", "undo_of").defer(
        "provider__secret", "provider__client_key"
    )


def find_already_requested(actor: Actor, fingerprints: Mapping[int, str]) -> list[Transfer]:
    """Open transfers of exactly these plans by this very person: what a second click asks for again."""
    if actor.user_id is None or not fingerprints:
        return []
    return list(
        transfers_for_display().filter(
            requested_by=actor.user_id,
            provider__in=fingerprints.keys(),
            plan_fingerprint__in=fingerprints.values(),
            status__in=Transfer.OPEN_STATUSES,
        )
    )
