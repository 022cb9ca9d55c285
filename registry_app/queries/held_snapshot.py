"""Reads of held snapshots."""

from registry_app.models import HeldSnapshot


def last_snapshot(provider_id: int) -> HeldSnapshot | None:
    """The last held snapshot of a provider, whatever became of it; without its body."""
    return HeldSnapshot.objects.filter(provider_id=provider_id).defer("body").order_by("-pk").first()
