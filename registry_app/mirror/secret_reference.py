"""Secrets given by reference: `env:NAME` and `file:NAME`, from the places a deployment set aside for them."""

import os
from pathlib import Path

from django.conf import settings

from registry_app.errors import SecretUnavailable

_LONGEST_SECRET = 64 * 1024


def fetch_secret_value(text: str) -> str:
    """The secret that `text` is, or that it refers to. Raises SecretUnavailable, never naming a value.

    `env:NAME` reads NAME only if it begins with DNSADMIN_CREDENTIAL_ENV_PREFIX, `file:NAME` only a file
    below DNSADMIN_CREDENTIALS_DIR: whoever may edit a provider must not read the rest of the machine.
    """
    kind, colon, name = text.partition(":")
    if colon and kind == "env":
        return _fetch_from_environment(name)
    if colon and kind == "file":
        return _fetch_from_file(name)
    return text


def _fetch_from_environment(name: str) -> str:
    prefix = settings.DNSADMIN_CREDENTIAL_ENV_PREFIX
    value = os.environ.get(name, "") if name.startswith(prefix) else ""
    if not value:
        raise _unavailable(f"env:{name}", f"Set an environment variable whose name begins with {prefix}.")
    return value


def _fetch_from_file(name: str) -> str:
    todo = "Put the file into the folder that DNSADMIN_CREDENTIALS_DIR names."
    if not settings.DNSADMIN_CREDENTIALS_DIR:
        raise _unavailable(f"file:{name}", todo)
    folder = Path(settings.DNSADMIN_CREDENTIALS_DIR).resolve()
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder) or path.stat().st_size > _LONGEST_SECRET:
            raise _unavailable(f"file:{name}", todo)
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        # Why exactly is not said: the answer must not tell which files exist.
        raise _unavailable(f"file:{name}", todo) from None


def _unavailable(reference: str, todo: str) -> SecretUnavailable:
    return SecretUnavailable(
        f"The secret reference {reference[:100]!r} cannot be resolved.", now="Nothing was sent.", todo=todo
    )
