"""Which failed transfers are still looked at: what they sent may arrive late."""

from datetime import datetime, timedelta

from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce

from registry_app.models import Transfer

WATCHED_FOR = timedelta(hours=24)
_MOST_DUE = 500


def find_watched(now: datetime) -> QuerySet[Transfer]:
    """Failed transfers whose provider had a good sync since they were looked at last."""
    watched = Transfer.objects.filter(status=Transfer.Status.FAILED, watch_until__gt=now)
    due = watched.filter(
        provider__is_enabled=True,
        provider__accepted_at__gt=Coalesce(F("watched_at"), F("finished_at")),
    )
    return due.select_related("provider", "source_owner", "target_owner")


def providers_with_late_arrivals(now: datetime) -> list[int]:
    """The providers of which failed transfers are to be looked at now."""
    return list(find_watched(now).order_by().values_list("provider_id", flat=True).distinct()[:_MOST_DUE])


def compute_watch_until(transfer: Transfer, now: datetime) -> datetime:
    """Until when a transfer that ends as failed now is looked at: counted from the first time it did."""
    return transfer.watch_until or now + WATCHED_FOR
