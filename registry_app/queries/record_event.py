"""Reads of the history of record sets."""

from datetime import datetime

from django.db.models import Count

from providers.wire.endpoint import EndpointKey
from registry_app.models import RecordEvent


def count_changing_runs(provider_id: int, since: datetime, *, at_least: int) -> dict[EndpointKey, int]:
    """In how many visits since then each record set had another value or owner, where at least so many. What
    transfers of ours changed is nobody's quarrel."""
    rows = (
        RecordEvent.objects.filter(
            provider_id=provider_id,
            at__gte=since,
            transfer_id__isnull=True,
            kind__in=[RecordEvent.Kind.CHANGED, RecordEvent.Kind.OWNER_CHANGED],
        )
        .order_by()
        .values_list("name", "record_type", "set_identifier")
        .annotate(runs=Count("sync_run_id", distinct=True))
        .filter(runs__gte=at_least)
    )
    return {EndpointKey(name, kind, identifier): runs for name, kind, identifier, runs in rows.iterator()}
