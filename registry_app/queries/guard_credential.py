"""The credential of a guard endpoint: HTTP Basic, of whose password a keyed hash is kept."""

import hmac

from registry_app.queries.keyed_hash import compute_keyed_hash

_LABEL = b"dnsadmin guard endpoint"
_LABEL_OF_NAMES = b"dnsadmin guard endpoint user name"


def compute_password_hash(password: str) -> str:
    """What is stored of a password."""
    return compute_keyed_hash(password, _LABEL)


def is_credential_right(username: str, password_hash: str, given_name: str, given_password: str) -> bool:
    """Whether a user name and password are those of a guard endpoint. Takes as long for a near miss as for a
    far one."""
    is_name = hmac.compare_digest(_hash_name(given_name), _hash_name(username))
    is_password = hmac.compare_digest(compute_password_hash(given_password), password_hash)
    return is_name and is_password


def _hash_name(username: str) -> str:
    """Names of any length, in any characters, compare in the same time."""
    return compute_keyed_hash(username, _LABEL_OF_NAMES)
