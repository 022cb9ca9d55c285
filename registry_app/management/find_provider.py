"""Providers as they are named on a command line."""

from registry_app.errors import InvalidRequest, NotFound
from registry_app.models import Provider
from registry_app.queries.named_row import find_named_provider


def find_providers(named: list[str], *, want_all: bool) -> list[Provider]:
    """The providers asked for, each once. Raises NotFound or InvalidRequest."""
    if want_all == bool(named):
        raise InvalidRequest(
            "No provider is named." if not named else "Provider names were given together with --all.",
            now="Nothing was synced.",
            todo="Name providers, or give --all.",
        )
    if want_all:
        return list(Provider.objects.filter(is_enabled=True).only("id", "name"))
    return list({provider.pk: provider for provider in map(find_provider, named)}.values())


def find_provider(text: str) -> Provider:
    """A provider by id or by name. Raises NotFound."""
    provider = find_named_provider(text)
    if provider is None:
        raise NotFound(f"There is no provider {text!r}.", now="Nothing was done.", todo="See the list.")
    return provider
