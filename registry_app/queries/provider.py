"""Reads of providers."""

from datetime import datetime, timedelta

from django.db.models import Q

from registry_app.models import Provider

SILENT_INTERVALS = 5
SHORTEST_SILENCE = timedelta(minutes=1)


def find_due(now: datetime, *, limit: int = 500) -> list[int]:
    """Providers whose next visit is due and that nobody visits right now, the longest waiting first.

    Nothing is marked: whoever gets the lease visits, everybody else leaves.
    """
    due = Provider.objects.filter(
        Q(next_visit_at__isnull=True) | Q(next_visit_at__lte=now),
        Q(lease_until__isnull=True) | Q(lease_until__lt=now),
        is_enabled=True,
    )
    return list(due.order_by("next_visit_at", "pk").values_list("pk", flat=True)[:limit])


def find_silent(now: datetime) -> list[Provider]:
    """Providers that should have been visited and were not, for five intervals."""
    silent: list[Provider] = []
    enabled = Provider.objects.filter(is_enabled=True).exclude(status=Provider.Status.FAILING)
    for provider in enabled.filter(next_visit_at__lt=now - SHORTEST_SILENCE):
        patience = max(provider.interval_seconds * SILENT_INTERVALS, SHORTEST_SILENCE.seconds)
        last = provider.last_visit_at or provider.created_at
        if (now - last).total_seconds() > patience:
            silent.append(provider)
    return silent
