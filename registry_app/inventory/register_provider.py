"""Register a provider."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from registry_app.actor import Actor
from registry_app.inventory.change_provider import raise_if_looser_than_namesake
from registry_app.inventory.provider_address import split_address
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.models import Provider
from registry_app.reconcile.note_duplicate_providers import note_duplicate_providers


def register_provider(actor: Actor, values: Mapping[str, Any]) -> Provider:
    """Store a provider; the scheduler visits it at its next tick. At the address of another one a
    finding tells of it, and `list_warnings` does.

    Raises NotAllowed, RefusedBySafety (another provider at this address asks for more approval), or
    InvalidRequest with the fields (bad URL, name taken, limits out of range).
    """
    raise_if_not_administrator(actor, "providers")
    wanted = split_address({"url": "", **values})
    raise_if_looser_than_namesake(wanted["url"], wanted.get("approval_policy", ""))
    with transaction.atomic():
        row = create_row(actor, Provider, wanted, action="provider.registered")
        note_duplicate_providers()
    return row
