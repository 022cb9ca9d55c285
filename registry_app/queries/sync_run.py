"""Reads of visits."""

from registry_app.models import SyncRun


def last_stored_set_aside(provider_id: int) -> int:
    """How many items the last stored snapshot of a provider had set aside."""
    stored = SyncRun.objects.filter(provider_id=provider_id, status=SyncRun.Status.STORED)
    return stored.order_by("-pk").values_list("set_aside", flat=True).first() or 0
