"""The key under which a name is locked while a transfer is open. Pure."""

import hashlib


def compute_lock_key(provider_id: int, name: str) -> str:
    """One key for each name of a provider: claims of one name share TXT records, whatever their types."""
    return hashlib.blake2b(f"{provider_id}\n{name}".encode(), digest_size=16).hexdigest()
