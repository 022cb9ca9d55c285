"""Which freezes hold now."""

from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from registry_app.models import Freeze, Provider


def fetch_active_freezes(provider: Provider, at: datetime | None = None) -> list[Freeze]:
    """The freezes that hold for `provider` at this moment, its own and those of all providers."""
    now = at or timezone.now()
    return list(
        Freeze.objects.filter(Q(provider=provider) | Q(provider__isnull=True))
        .filter(starts_at__lte=now)
        .filter(Q(ends_at__isnull=True) | Q(ends_at__gt=now))
        .select_related("provider")
    )


def describe_freeze(freeze: Freeze) -> str:
    """A freeze in one clause, such as `provider-a is frozen until 2026-11-21 08:00 UTC (change stop)`."""
    subject = f"{freeze.provider.name} is" if freeze.provider else "All providers are"
    until = f" until {freeze.ends_at:%Y-%m-%d %H:%M} UTC" if freeze.ends_at else ""
    return f"{subject} frozen{until} ({freeze.reason})"
