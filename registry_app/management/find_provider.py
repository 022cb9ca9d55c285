"""Providers as they are named on a command line."""

from django.db.models import QuerySet

from registry_app.errors import InvalidRequest, NotFound
from registry_app.models import Provider


def find_providers(named: list[str], *, want_all: bool) -> list[Provider]:
    """The providers asked for, each once. Raises NotFound or InvalidRequest."""
    if want_all == bool(named):
        raise InvalidRequest(
            "Nobody said which providers." if not named else "Providers were named beside --all.",
            now="Nothing was visited.",
            todo="Name providers, or say --all.",
        )
    if want_all:
        return list(_providers().filter(is_enabled=True))
    return list({provider.pk: provider for provider in map(find_provider, named)}.values())


def find_provider(text: str) -> Provider:
    """A provider by name, or by id where no name fits. Raises NotFound."""
    provider = _providers().filter(name=text).first()
    if provider is None and text.isascii() and text.isdigit() and len(text) < 19:
        provider = _providers().filter(pk=int(text)).first()
    if provider is None:
        raise NotFound(f"There is no provider {text!r}.", now="Nothing was done.", todo="Look at the list.")
    return provider


def _providers() -> QuerySet[Provider]:
    """Without their secrets: one that cannot be decrypted concerns its own visit only."""
    return Provider.objects.only("id", "name")
