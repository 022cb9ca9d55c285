"""How an API token is written and how its secret is kept: only as a keyed hash."""

import hashlib
import hmac
import secrets

from django.conf import settings

_PREFIX = "dnsa"


def build_token_text(public_id: str, secret: str) -> str:
    """The bearer token as it is shown once."""
    return f"{_PREFIX}_{public_id}_{secret}"


def parse_token_text(text: str) -> tuple[str, str] | None:
    """Public id and secret; None for anything that is not one of our tokens."""
    parts = text.split("_")
    if len(parts) != 3 or parts[0] != _PREFIX or not parts[1].isalnum() or not parts[2].isalnum():
        return None
    return parts[1], parts[2]


def build_random_parts() -> tuple[str, str]:
    """A new public id (64 bits) and secret (256 bits), both hexadecimal."""
    return secrets.token_hex(8), secrets.token_hex(32)


def compute_secret_hash(secret: str) -> str:
    """HMAC-SHA256 under a key of its own, derived from the oldest encryption key: rotating in a newer
    key leaves tokens valid."""
    master = settings.DNSADMIN_ENCRYPTION_KEYS[-1]
    key = hmac.new(master, b"dnsadmin api token", hashlib.sha256).digest()
    return hmac.new(key, secret.encode(), hashlib.sha256).hexdigest()
