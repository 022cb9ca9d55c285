"""What went wrong between us and a provider, as an error of the app."""

from collections.abc import Iterator
from contextlib import contextmanager

from providers.http.errors import ProviderError
from providers.wire.errors import WireError
from registry_app.errors import DnsadminError
from registry_app.models import Provider
from registry_app.reconcile.failure import describe_failure


class ProviderTrouble(DnsadminError):
    """The provider could not be asked, or its answer could not be used."""

    code = "provider_trouble"


@contextmanager
def telling_failures(provider: Provider) -> Iterator[None]:
    """Raise ProviderTrouble for whatever a provider's client or codec raises. Nothing was sent by then."""
    try:
        yield
    except (ProviderError, WireError) as error:
        code, text = describe_failure(error)
        raise ProviderTrouble(
            f"{provider.name}: {text}",
            now="Nothing was planned or sent.",
            todo="Correct the provider, then try again.",
            code=code,
        ) from error
