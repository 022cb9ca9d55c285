"""Providers as their pages show them: never with a secret loaded."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import BooleanField, Case, Count, Q, QuerySet, Value, When

from registry_app.models import PROVIDER_SECRETS, Finding, Freeze, HeldSnapshot, Provider, RecordSet, SyncRun

STRIP_LENGTH = 40


@dataclass(frozen=True)
class ProviderPage:
    """Newest visits last, as a strip is read."""

    visits: list[SyncRun]
    held: HeldSnapshot | None
    freezes: list[Freeze]
    findings: list[Finding]
    states: dict[str, int]


def providers_for_display() -> QuerySet[Provider]:
    """Providers without their secrets, but with whether they are set."""
    return Provider.objects.annotate(
        has_secret=build_is_set("secret"),
        has_url_query=build_is_set("url_query"),
        has_client_key=build_is_set("client_key"),
    )


def fetch_provider_page(provider: Provider, now: datetime) -> ProviderPage:
    """What happens at one provider."""
    held = HeldSnapshot.objects.filter(
        provider=provider.pk, status__in=[HeldSnapshot.Status.OPEN, HeldSnapshot.Status.ACCEPTED]
    )
    states = RecordSet.objects.filter(provider=provider.pk).values_list("state").annotate(amount=Count("id"))
    findings = Finding.objects.filter(provider=provider.pk, state=Finding.State.OPEN)
    return ProviderPage(
        visits=list(SyncRun.objects.filter(provider=provider.pk)[:STRIP_LENGTH])[::-1],
        held=held.defer("body").first(),
        freezes=list(active_freezes(now).filter(Q(provider=provider.pk) | Q(provider=None))[:20]),
        findings=list(findings[:20]),
        states=dict(states.order_by("state")),
    )


def active_freezes(now: datetime) -> QuerySet[Freeze]:
    """Freezes that hold now or later."""
    return (
        Freeze.objects.filter(Q(ends_at=None) | Q(ends_at__gt=now))
        .select_related("provider")
        .defer(*PROVIDER_SECRETS)
    )


def build_is_set(column: str) -> Case:
    """Whether a secret is stored, without loading it."""
    return Case(When(**{column: ""}, then=Value(False)), default=Value(True), output_field=BooleanField())  # noqa: FBT003
