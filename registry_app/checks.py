"""What `check --deploy` refuses: keys that can be guessed."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

_SHORTEST_TEXT = 32
_FEWEST_DIFFERENT = 10


@register(Tags.security, deploy=True)
def check_keys(app_configs: Sequence[Any] | None, **_options: Any) -> list[CheckMessage]:
    """Errors for keys that are too short or too uniform. Their values are never said."""
    keys: list[tuple[str, str, bytes]] = [
        ("dnsadmin.E001", "DNSADMIN_AUDIT_KEY", settings.DNSADMIN_AUDIT_KEY.encode()),
        ("dnsadmin.E002", "DNSADMIN_SECRET_KEY", settings.SECRET_KEY.encode()),
        *(("dnsadmin.E003", "DNSADMIN_ENCRYPTION_KEYS", key) for key in settings.DNSADMIN_ENCRYPTION_KEYS),
    ]
    return [
        Error(
            f"{name} can be guessed: it has fewer than {_SHORTEST_TEXT} characters, or fewer than "
            f"{_FEWEST_DIFFERENT} different ones.",
            hint="Set it to what `openssl rand -base64 32` prints.",
            id=code,
        )
        for code, name, key in keys
        if len(key) < _SHORTEST_TEXT or len(set(key)) < _FEWEST_DIFFERENT
    ]
