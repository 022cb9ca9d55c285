"""When the next sync is due, with what people asked for while this one went on."""

from datetime import datetime

from django.db.models import Case, F, Q, Value, When

from registry_app.models import Provider
from registry_app.reconcile.schedule import compute_next_sync


def build_next_sync(provider: Provider, now: datetime) -> Case:
    """The value of `Provider.next_sync_at` after a sync that had an answer. `provider` is as it was before.

    What somebody set in between stays: the answer may be older than their wish, or than the snapshot they
    accepted.
    """
    before = provider.next_sync_at
    is_untouched = Q(next_sync_at__isnull=True) if before is None else Q(next_sync_at=before)
    planned = compute_next_sync(now, provider.interval_seconds)
    return Case(When(is_untouched, then=Value(planned)), default=F("next_sync_at"))
