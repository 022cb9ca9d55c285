"""Give a group a right."""

from collections.abc import Mapping
from typing import Any

from registry_app.actor import Actor
from registry_app.errors import InvalidRequest
from registry_app.inventory.rows import create_row, raise_if_not_administrator
from registry_app.models import Grant
from registry_app.queries.name_range import read_name


def add_grant(actor: Actor, values: Mapping[str, Any]) -> Grant:
    """Store a grant. Raises NotAllowed, or InvalidRequest with the fields."""
    raise_if_not_administrator(actor, "grants")
    suffix = str(values.get("name_suffix") or "")
    return create_row(actor, Grant, {**values, "name_suffix": _read_suffix(suffix)}, action="grant.added")


def _read_suffix(text: str) -> str:
    # Nothing typed means any name; something that comes to nothing, such as a single dot, does not.
    suffix = read_name(text)
    if text and not suffix:
        message = f"{text!r} is no name. Name one such as example.org, or leave it empty for any name."
        raise InvalidRequest("The grant cannot be added.", fields={"name_suffix": [message]})
    return suffix
