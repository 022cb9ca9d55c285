"""Delete what the guard no longer needs to know."""

from django.conf import settings
from django.db.models import Model, QuerySet

from registry_app.clock import fetch_now
from registry_app.models import UNSETTLED, GuardDecision, GuardStep, HeldDelete, StepStatus

_BATCH = 500
_OVER = (HeldDelete.Status.DELETED, HeldDelete.Status.WANTED)


def purge_guard() -> int:
    """Delete change sets, decisions and ended held deletes that are older than the retention setting of runs;
    how many. What is open stays, and so do the counts of decisions."""
    before = fetch_now() - settings.DNSADMIN_RETENTION_RUNS
    steps = GuardStep.objects.filter(stored_at__lt=before).exclude(status__in=(StepStatus.STORED, *UNSETTLED))
    return sum(
        _delete(rows)
        for rows in (
            steps,
            GuardDecision.objects.filter(last_at__lt=before),
            HeldDelete.objects.filter(status__in=_OVER, last_asked_at__lt=before),
        )
    )


def _delete(rows: QuerySet[Model]) -> int:
    deleted = 0
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
        rows.model._default_manager.filter(pk__in=keys).delete()
        deleted += len(keys)
    return deleted
