"""Reads of providers: whose sync is due, whose lease is free, and what their last syncs left."""

from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from registry_app.models import HeldSnapshot, Provider, SyncRun

SILENT_INTERVALS = 5
SHORTEST_SILENCE = timedelta(minutes=1)
# Longer than any provider is left alone (a day at most), and than any two clocks of one deployment differ.
_LONGEST_WAIT = timedelta(days=2)
_CLOCKS_DIFFER_BY = timedelta(minutes=5)
# The longest any run asks for at once is far shorter: a lease beyond this is of a clock that was wrong, and
# whoever took it is fenced by its epoch should it still be there.
_LONGEST_LEASE = timedelta(days=1)


def find_due(now: datetime, *, limit: int = 500) -> list[int]:
    """Providers whose next sync is due and that nobody syncs right now, the longest waiting first.

    Nothing is marked: whoever gets the lease syncs, everybody else leaves.
    """
    due = _due(now).filter(build_free_query(now))
    return list(due.order_by("next_sync_at", "pk").values_list("pk", flat=True)[:limit])


def is_sync_due(provider_id: int, now: datetime) -> bool:
    """Whether its next sync is due: a task may start when another one has done the work already."""
    return _due(now).filter(pk=provider_id).exists()


def find_silent(now: datetime) -> list[Provider]:
    """Providers that should have been synced and were not, for five intervals. One that failed last is
    among them: whoever should try again does not. One whose lease somebody has is not: a long transfer
    keeps syncs waiting."""
    silent: list[Provider] = []
    overdue = Provider.objects.filter(is_enabled=True, next_sync_at__lt=now - SHORTEST_SILENCE)
    for provider in overdue.filter(build_free_query(now)):
        patience = max(provider.interval_seconds * SILENT_INTERVALS, SHORTEST_SILENCE.seconds)
        last = provider.last_sync_at or provider.created_at
        if (now - last).total_seconds() > patience:
            silent.append(provider)
    return silent


def build_free_query(now: datetime, prefix: str = "") -> Q:
    """Matches providers whose lease is to be had; `prefix` is the way to the provider, as `provider__`."""
    until = f"{prefix}lease_until"
    return (
        Q(**{f"{until}__isnull": True})
        | Q(**{f"{until}__lt": now})
        | Q(**{f"{until}__gt": now + _LONGEST_LEASE})
    )


def last_snapshot(provider_id: int) -> HeldSnapshot | None:
    """The last held snapshot of a provider, whatever became of it; without its body."""
    return HeldSnapshot.objects.filter(provider_id=provider_id).defer("body").order_by("-pk").first()


def last_stored_set_aside(provider_id: int) -> int:
    """How many items the last stored snapshot of a provider had set aside."""
    stored = SyncRun.objects.filter(provider_id=provider_id, status=SyncRun.Status.STORED)
    return stored.order_by("-pk").values_list("set_aside", flat=True).first() or 0


def _due(now: datetime) -> "QuerySet[Provider]":
    is_time = Q(next_sync_at__isnull=True) | Q(next_sync_at__lte=now)
    # A clock that was wrong put these off: nobody was there in the future, and none waits that long.
    is_put_off = Q(last_sync_at__gt=now + _CLOCKS_DIFFER_BY) | Q(next_sync_at__gt=now + _LONGEST_WAIT)
    return Provider.objects.filter(is_time | is_put_off, is_enabled=True)
