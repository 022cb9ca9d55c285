"""Which freezes hold now."""

from datetime import datetime
from enum import StrEnum

from django.db.models import Q

from registry_app.clock import fetch_now
from registry_app.models import Freeze, Provider


class FreezeState(StrEnum):
    """Where a freeze stands at one moment. Not a column: time alone changes it."""

    PLANNED = "planned"
    ACTIVE = "active"
    OVER = "over"


def compute_freeze_state(freeze: Freeze, at: datetime) -> FreezeState:
    """The state of a freeze at `at`. One that was lifted before it started never is active."""
    if freeze.ends_at is not None and freeze.ends_at <= max(at, freeze.starts_at):
        return FreezeState.OVER
    return FreezeState.PLANNED if at < freeze.starts_at else FreezeState.ACTIVE


def fetch_active_freezes(provider: Provider, at: datetime | None = None) -> list[Freeze]:
    """The freezes that hold for `provider` at this moment, its own and those of all providers."""
    now = at or fetch_now()
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
