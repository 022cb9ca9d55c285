"""The address of a provider, as it can be stored, shown and compared."""

import hmac

from django.conf import settings

from registry_app.models import Provider


def name_place(provider: Provider) -> str:
    """The provider's URL; of its query, which may be a token, only an identifier of its value.

    Raises SecretUnavailable.
    """
    query = identify_secret(provider.url_query.encode())
    return f"{provider.url}?({query})" if query else provider.url


def identify_secret(secret: bytes) -> str:
    """An identifier of a secret, to compare it with another; empty if there is none.

    Keyed and shortened, so that guessed secrets cannot be tried against it.
    """
    if not secret:
        return ""
    return hmac.digest(settings.SECRET_KEY.encode(), b"premises" + secret, "sha256")[:8].hex()
