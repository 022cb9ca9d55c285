"""Register a registry profile."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest, StateMoved
from registry_app.inventory.registry_place import find_place
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.inventory.store_address import read_store_address
from registry_app.models import RegistryProfile


def register_registry_profile(actor: Actor, values: Mapping[str, Any]) -> RegistryProfile:
    """Store a registry profile. Raises NotAllowed, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "registry profiles")
    address = read_store_address("endpoint_url", str(values.get("endpoint_url", "")))
    wanted = {**values, "endpoint_url": address}
    wanted["store_place"] = find_place(wanted)
    try:
        return create_row(actor, RegistryProfile, wanted, action="registry_profile.registered")
    except (InvalidRequest, StateMoved):
        find_place(wanted)  # somebody may have been first at this very store: then say so
        raise
