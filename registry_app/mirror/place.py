"""Where a provider is, in words that can be stored, shown and compared."""

import hmac

from django.conf import settings

from registry_app.models import Provider


def name_place(provider: Provider) -> str:
    """The provider's URL; of its query, which may be a token, only what tells it from another one.

    Raises SecretUnavailable.
    """
    query = identify_secret(provider.url_query.encode())
    return f"{provider.url}?({query})" if query else provider.url


def identify_secret(secret: bytes) -> str:
    """What tells a secret from another one; empty if there is none.

    Keyed, and cut: whoever reads it cannot try guessed secrets against it.
    """
    if not secret:
        return ""
    return hmac.digest(settings.SECRET_KEY.encode(), b"premises" + secret, "sha256")[:8].hex()
