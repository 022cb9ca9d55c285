"""Change a provider's settings."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from providers.http.address import parse_provider_url
from registry_app.actor import Actor
from registry_app.inventory.provider_address import split_address
from registry_app.inventory.rows import change_row, fetch_row, raise_if_not_administrator
from registry_app.models import Provider

_CREDENTIALS = ("secret", "client_key", "url_query")


def change_provider(
    actor: Actor,
    provider_id: int,
    changes: Mapping[str, Any],
    *,
    expected_updated_at: datetime | None = None,
) -> Provider:
    """Change a provider. Its credentials are cleared when the origin of its URL changes and no new ones
    come along: a secret is never sent to a place it was not entered for."""
    raise_if_not_administrator(actor, "providers")
    values = split_address(changes)
    if "url" in values:
        stored = parse_provider_url(fetch_row(Provider, provider_id).url)
        if stored.origin != parse_provider_url(values["url"]).origin:
            values = {**dict.fromkeys(_CREDENTIALS, ""), **values}
    return change_row(
        actor,
        Provider,
        provider_id,
        values,
        action="provider.changed",
        expected_updated_at=expected_updated_at,
    )
