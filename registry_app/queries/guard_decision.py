"""What the guard decided, which deletes it holds, and what it sent."""

from django.db.models import Count, QuerySet

from registry_app.models import (
    PROVIDER_SECRETS,
    GuardCount,
    GuardDecision,
    GuardEndpoint,
    GuardStep,
    HeldDelete,
)

_RELATED = ("provider", "instance", "instance__owner")
_SECRETS = ("password_hash", *PROVIDER_SECRETS)


def list_guard_decisions() -> QuerySet[GuardDecision]:
    """All decisions with what a list shows of whom each was made for."""
    return _with_guard_endpoint(GuardDecision.objects.all())


def list_held_deletes() -> QuerySet[HeldDelete]:
    """All held deletes, the decided ones too, with what a list shows of who asked for each."""
    return _with_guard_endpoint(HeldDelete.objects.all())


def list_guard_steps() -> QuerySet[GuardStep]:
    """All change sets that the guard sent. A guard endpoint may be deleted since."""
    rows = GuardStep.objects.select_related("provider", "guard_endpoint")
    return rows.defer(*PROVIDER_SECRETS, "guard_endpoint__password_hash")


def fetch_guard_counts(row: GuardEndpoint) -> list[GuardCount]:
    """How often the guard decided so for an instance, in all its time; the most frequent first."""
    return list(GuardCount.objects.filter(guard_endpoint=row).order_by("-count", "outcome", "rule"))


def count_held_deletes(row: GuardEndpoint) -> dict[str, int]:
    """How many deletes of an instance are in each status."""
    rows = HeldDelete.objects.filter(guard_endpoint=row)
    return dict(rows.order_by().values_list("status").annotate(amount=Count("pk")))


def _with_guard_endpoint(rows: QuerySet) -> QuerySet:  # type: ignore[type-arg]  # of either model
    related = ("guard_endpoint", *(f"guard_endpoint__{name}" for name in _RELATED))
    return rows.select_related(*related).defer(*(f"guard_endpoint__{name}" for name in _SECRETS))
