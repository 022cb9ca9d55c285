"""Which registries are to be compared with their providers now."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Q

from providers.stores.registry_catalogue import KINDS_WITH_RESYNC
from registry_app.clock import fetch_now
from registry_app.models import RegistryProfile

_MOST_DUE = 500
_LONGEST_WAIT = timedelta(days=2)


def due_resyncs() -> list[int]:
    """Registry profiles, the longest waiting first."""
    now = fetch_now()
    # One that waits for longer than any does was put off by a clock that was wrong.
    is_time = (
        Q(next_resync_at__isnull=True)
        | Q(next_resync_at__lte=now)
        | Q(next_resync_at__gt=now + 2 * settings.DNSADMIN_REGISTRY_RESYNC + _LONGEST_WAIT)
    )
    due = RegistryProfile.objects.filter(is_time, kind__in=KINDS_WITH_RESYNC, providers__is_enabled=True)
    return list(due.order_by("next_resync_at", "pk").values_list("pk", flat=True)[:_MOST_DUE])
