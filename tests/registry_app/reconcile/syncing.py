"""One sync, due or not."""

from registry_app.actor import SYSTEM
from registry_app.models import Provider, RecordSet, SyncRun
from registry_app.reconcile.sync import sync_provider


def sync(provider: Provider) -> SyncRun:
    """Sync now and return the run; the provider is read again."""
    run = sync_provider(provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.PERSON)
    assert run is not None
    provider.refresh_from_db()
    return run


def sync_by_schedule(provider: Provider) -> SyncRun | None:
    """As the scheduler does once the provider is due; the provider is read again."""
    Provider.objects.filter(pk=provider.pk).update(next_sync_at=None)
    run = sync_provider(provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.SCHEDULE)
    provider.refresh_from_db()
    return run


def mirrored(provider: Provider) -> list[tuple[str, str, str, list[str], str, str | None, bool]]:
    """The mirror of a provider as plain values, missing ones included."""
    rows = RecordSet.objects.filter(provider=provider).select_related("owner")
    return sorted(
        (
            row.name,
            row.record_type,
            row.set_identifier,
            sorted(row.targets),
            row.state,
            row.owner.owner_id if row.owner else None,
            row.missing_since is not None,
        )
        for row in rows
    )
