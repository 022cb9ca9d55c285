"""Providers as their pages show them: never with a secret loaded."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import BooleanField, Case, Count, Q, QuerySet, Value, When

from registry_app.models import PROVIDER_SECRETS, Finding, Freeze, HeldSnapshot, Provider, RecordSet, SyncRun

STRIP_LENGTH = 40


@dataclass(frozen=True)
class ProviderPage:
    """Newest syncs last, as a strip is read."""

    syncs: list[SyncRun]
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
        syncs=list(SyncRun.objects.filter(provider=provider.pk)[:STRIP_LENGTH])[::-1],
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


_LATE_AFTER_INTERVALS = 3


def describe_freshness(provider: Provider, now: datetime) -> str:
    """`mirror of 14:02` (UTC) and, where it matters, what keeps it from being newer."""
    if provider.accepted_at is None:
        first = "first sync failed" if provider.consecutive_failures else "not synced yet"
        return first if provider.is_enabled else "sync is off"
    line = f"mirror of {_format_moment(provider.accepted_at, now)}"
    if provider.status == Provider.Status.FAILING:
        return f"{line}, provider down for {_format_minutes(now - provider.accepted_at)}"
    if provider.status == Provider.Status.HELD:
        return f"{line}, newer snapshot held for review"
    if not provider.is_enabled:
        return f"{line}, sync is off"
    if is_late(provider, now):
        return f"{line}, late by its schedule ({_format_minutes(now - provider.accepted_at)} old)"
    return line


def is_late(provider: Provider, now: datetime) -> bool:
    """Whether a healthy provider was not synced for several of its intervals."""
    if not provider.is_enabled or provider.accepted_at is None:
        return False
    allowed = max(timedelta(seconds=provider.interval_seconds * _LATE_AFTER_INTERVALS), timedelta(minutes=2))
    seen = max(filter(None, (provider.accepted_at, provider.last_sync_at)))
    return now - seen > allowed


def _format_moment(at: datetime, now: datetime) -> str:
    return f"{at:%H:%M}" if now - at < timedelta(hours=20) else f"{at:%Y-%m-%d %H:%M}"


def _format_minutes(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    if minutes >= 2 * 24 * 60:
        return f"{minutes // (24 * 60)} d"
    return f"{minutes // 60} h" if minutes >= 120 else f"{minutes} min"
