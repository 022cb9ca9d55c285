"""Syncs whose worker died: their lease is over, and nobody will end them (I7)."""

from django.db.models import F, Q

from registry_app.clock import fetch_now
from registry_app.models import SyncRun
from registry_app.queries.provider import build_free_query

_MOST_AT_ONCE = 500


def mark_abandoned_runs() -> int:
    """End running syncs whose lease is over or somebody else's. The provider is due anyway."""
    now = fetch_now()
    is_over = build_free_query(now, "provider__") | Q(provider__lease_epoch__gt=F("epoch"))
    running = SyncRun.objects.filter(is_over, status=SyncRun.Status.RUNNING)
    pks = list(running.order_by("pk").values_list("pk", flat=True)[:_MOST_AT_ONCE])
    if not pks:
        return 0
    return SyncRun.objects.filter(pk__in=pks, status=SyncRun.Status.RUNNING).update(
        status=SyncRun.Status.ABANDONED,
        finished_at=now,
        error_code="abandoned",
        error="The worker of this sync stopped before its end. The mirror has what was stored until then. "
        "The next sync compares everything again.",
    )
