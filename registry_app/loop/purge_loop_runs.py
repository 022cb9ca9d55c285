"""Runs of loops that are older than the retention settings say go, some hundred rows a transaction."""

from django.conf import settings
from django.db.models import Max

from registry_app.clock import fetch_now
from registry_app.models import LoopRun

_BATCH = 500


def purge_loop_runs() -> int:
    """How many went. What is not over stays, and so does the last run of each loop; what one that sent
    something did is in the audit trail."""
    before = fetch_now() - settings.DNSADMIN_RETENTION_RUNS
    last = LoopRun.objects.filter(loop__isnull=False).values("loop_id").order_by().annotate(last=Max("pk"))
    old = (
        LoopRun.objects.filter(started_at__lt=before)
        .exclude(status=LoopRun.Status.RUNNING)
        .exclude(pk__in=last.values("last"))
    )
    deleted = 0
    while pks := list(old.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
        LoopRun.objects.filter(pk__in=pks).delete()
        deleted += len(pks)
    return deleted
