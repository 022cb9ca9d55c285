"""Register a registry profile."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.models import RegistryProfile


def register_registry_profile(actor: Actor, values: Mapping[str, Any]) -> RegistryProfile:
    """Store a registry profile. Raises NotAllowed, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "registry profiles")
    return create_row(actor, RegistryProfile, values, action="registry_profile.registered")
