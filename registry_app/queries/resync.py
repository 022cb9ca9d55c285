"""Which ConfigMap registries are to be held against their providers now."""

from django.db.models import Q
from django.utils import timezone

from registry_app.models import RegistryProfile

_MOST_DUE = 500


def due_resyncs() -> list[int]:
    """Registry profiles, the longest waiting first."""
    now = timezone.now()
    is_time = Q(next_resync_at__isnull=True) | Q(next_resync_at__lte=now)
    due = RegistryProfile.objects.filter(
        is_time, kind=RegistryProfile.Kind.CONFIGMAP, providers__is_enabled=True
    )
    return list(due.order_by("next_resync_at", "pk").values_list("pk", flat=True)[:_MOST_DUE])
