"""Which freezes apply, and why nothing may be sent to a provider. Everything that sends asks here first."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import Q

from registry_app.clock import fetch_now
from registry_app.models import Freeze, Provider
from registry_app.outside_copy import find_copy_ahead


class FreezeState(StrEnum):
    """The state of a freeze at one moment. Not a column: time alone changes it."""

    PLANNED = "planned"
    ACTIVE = "active"
    OVER = "over"


def compute_freeze_state(freeze: Freeze, at: datetime) -> FreezeState:
    """The state of a freeze at `at`. One that was lifted before it started never is active."""
    if freeze.ends_at is not None and freeze.ends_at <= max(at, freeze.starts_at):
        return FreezeState.OVER
    return FreezeState.PLANNED if at < freeze.starts_at else FreezeState.ACTIVE


def fetch_active_freezes(provider: Provider, at: datetime | None = None) -> list[Freeze]:
    """The freezes that apply to `provider` at this moment, its own and those of all providers."""
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


@dataclass(frozen=True)
class SendStop:
    """One reason why nothing may be sent to a provider. `happened` is one sentence."""

    happened: str
    todo: str
    code: str


def find_send_stops(provider: Provider) -> list[SendStop]:
    """Why nothing may be sent to `provider` at this moment: freezes, and a database that was restored."""
    return [*_find_freezes(provider), *_find_restore(provider)]


def _find_freezes(provider: Provider) -> list[SendStop]:
    todo = "Wait until it ends, or ask an operator to lift it."
    return [
        SendStop(f"{describe_freeze(freeze)}.", todo, "frozen") for freeze in fetch_active_freezes(provider)
    ]


def _find_restore(provider: Provider) -> list[SendStop]:
    if Provider.objects.filter(pk=provider.pk, restored_at__isnull=False).exists():
        happened = f"The database was restored, and no snapshot of {provider.name} was accepted since."
        todo = (
            "Check its record sets. Then accept its snapshot on its page, or with `dnsadmin_restore accept`."
        )
        return [SendStop(happened, todo, "restored")]
    if find_copy_ahead() is not None:
        happened = "The database was restored from an earlier state, and dnsadmin has not recorded this yet."
        return [SendStop(happened, "Wait a moment: a worker records it.", "database_restored")]
    return []
