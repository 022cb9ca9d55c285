"""Register a provider."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.inventory.provider_address import split_address
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.models import Provider


def register_provider(actor: Actor, values: Mapping[str, Any]) -> Provider:
    """Store a provider; the scheduler visits it at its next tick.

    Raises NotAllowed, or InvalidRequest with the fields (bad URL, name taken, limits out of range).
    """
    raise_if_not_administrator(actor, "providers")
    return create_row(actor, Provider, split_address({"url": "", **values}), action="provider.registered")
