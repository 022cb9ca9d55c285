"""Keyed hashes of the secrets that dnsadmin issues: those of API tokens, and passwords of guard endpoints."""

import hashlib
import hmac

from django.conf import settings


def compute_keyed_hash(secret: str, label: bytes) -> str:
    """HMAC-SHA256 under a key of its own for each label, derived from the oldest encryption key: rotating
    in a newer key leaves what was issued valid."""
    master = settings.DNSADMIN_ENCRYPTION_KEYS[-1]
    key = hmac.new(master, label, hashlib.sha256).digest()
    return hmac.new(key, secret.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()
