"""How true the mirror of a provider still is, in one line."""

from datetime import datetime, timedelta

from registry_app.models import Provider

_LATE_AFTER_INTERVALS = 3


def describe_freshness(provider: Provider, now: datetime) -> str:
    """`mirror of 14:02` (UTC) and, where it matters, what keeps it from being newer."""
    if provider.accepted_at is None:
        first = "first visit failed" if provider.consecutive_failures else "not visited yet"
        return first if provider.is_enabled else "not visited: switched off"
    line = f"mirror of {_format_moment(provider.accepted_at, now)}"
    if provider.status == Provider.Status.FAILING:
        return f"{line}, provider down for {_format_minutes(now - provider.accepted_at)}"
    if provider.status == Provider.Status.HELD:
        return f"{line}, newer snapshot held for review"
    if not provider.is_enabled:
        return f"{line}, no longer visited"
    if is_late(provider, now):
        return f"{line}, late by its schedule ({_format_minutes(now - provider.accepted_at)} old)"
    return line


def is_late(provider: Provider, now: datetime) -> bool:
    """Whether a healthy provider was not visited for several of its intervals."""
    if not provider.is_enabled or provider.accepted_at is None:
        return False
    allowed = max(timedelta(seconds=provider.interval_seconds * _LATE_AFTER_INTERVALS), timedelta(minutes=2))
    seen = max(filter(None, (provider.accepted_at, provider.last_visit_at)))
    return now - seen > allowed


def _format_moment(at: datetime, now: datetime) -> str:
    return f"{at:%H:%M}" if now - at < timedelta(hours=20) else f"{at:%Y-%m-%d %H:%M}"


def _format_minutes(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    if minutes >= 2 * 24 * 60:
        return f"{minutes // (24 * 60)} d"
    return f"{minutes // 60} h" if minutes >= 120 else f"{minutes} min"
