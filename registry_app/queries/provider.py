"""Reads of providers: which are due, which share an address, and what their pages show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BooleanField, Case, Q, QuerySet, Value, When

from providers.http.address import parse_provider_url
from providers.http.errors import InvalidAddress
from registry_app.actor import Actor
from registry_app.models import PROVIDER_SECRETS, Finding, Freeze, HeldSnapshot, KeptCount, Provider, SyncRun
from registry_app.queries.kept_count import count_by
from registry_app.queries.readable import readable

SILENT_INTERVALS = 5
SHORTEST_SILENCE = timedelta(minutes=1)
# Longer than any provider is left alone (a day at most), and than any two clocks of one deployment differ.
_LONGEST_WAIT = timedelta(days=2)
_CLOCKS_DIFFER_BY = timedelta(minutes=5)
# The longest any run asks for at once is far shorter: a lease beyond this is of a clock that was wrong, and
# whoever took it is fenced by its epoch should it still be there.
_LONGEST_LEASE = timedelta(days=1)
# The scheduler asks every three seconds, so that this limits the syncs in a second (333).
_MOST_DUE = 1_000
_NAMED = 5
STRIP_LENGTH = 40
_LATE_AFTER_INTERVALS = 3


def find_due(now: datetime, *, limit: int = _MOST_DUE) -> list[int]:
    """Providers whose next sync is due and that nobody syncs right now, the longest waiting first.

    Nothing is marked: the worker that gets the lease syncs.
    """
    due = due_providers(now).filter(build_free_query(now))
    return list(due.order_by("next_sync_at", "pk").values_list("pk", flat=True)[:limit])


def is_sync_due(provider_id: int, now: datetime) -> bool:
    """Whether its next sync is due: a task may start when another one has done the work already."""
    return due_providers(now).filter(pk=provider_id).exists()


def find_silent(now: datetime) -> list[Provider]:
    """Providers that should have been synced and were not, for five intervals. A provider whose
    last sync failed is among them, because it is not tried again. One with a lease is not: a long transfer
    delays syncs."""
    silent: list[Provider] = []
    overdue = Provider.objects.filter(is_enabled=True, next_sync_at__lt=now - SHORTEST_SILENCE)
    for provider in overdue.filter(build_free_query(now)):
        patience = max(provider.interval_seconds * SILENT_INTERVALS, SHORTEST_SILENCE.seconds)
        last = provider.last_sync_at or provider.created_at
        if (now - last).total_seconds() > patience:
            silent.append(provider)
    return silent


def build_free_query(now: datetime, prefix: str = "") -> Q:
    """Matches providers whose lease is free; `prefix` is the path to the provider, such as `provider__`."""
    until = f"{prefix}lease_until"
    return (
        Q(**{f"{until}__isnull": True})
        | Q(**{f"{until}__lt": now})
        | Q(**{f"{until}__gt": now + _LONGEST_LEASE})
    )


def build_due_query(column: str, now: datetime, longest_wait: timedelta) -> Q:
    """Matches rows whose time in `column` has come. One that waits for longer than any row does was put off
    by a clock that was wrong."""
    is_due = Q(**{f"{column}__isnull": True}) | Q(**{f"{column}__lte": now})
    return is_due | Q(**{f"{column}__gt": now + longest_wait})


def last_snapshot(provider_id: int) -> HeldSnapshot | None:
    """The last held snapshot of a provider, in any status, without its body."""
    return HeldSnapshot.objects.filter(provider_id=provider_id).defer("body").order_by("-pk").first()


def last_stored_set_aside(provider_id: int) -> int:
    """How many items the last stored snapshot of a provider had set aside."""
    stored = SyncRun.objects.filter(provider_id=provider_id, status=SyncRun.Status.STORED)
    return stored.order_by("-pk").values_list("set_aside", flat=True).first() or 0


def due_providers(now: datetime) -> "QuerySet[Provider]":
    """Providers whose next sync is due, whoever works with them."""
    is_due = build_due_query("next_sync_at", now, _LONGEST_WAIT)
    # A last sync in the future is of a clock that was wrong, too.
    return Provider.objects.filter(is_due | Q(last_sync_at__gt=now + _CLOCKS_DIFFER_BY), is_enabled=True)


def compute_place(url: str) -> str:
    """The same text for every spelling of one address, whatever its query; empty if it cannot be read."""
    try:
        return parse_provider_url(url).place
    except InvalidAddress:
        return ""


def find_namesakes(url: str, *, besides: int | None = None) -> list[Provider]:
    """The other providers at this address, oldest first."""
    place = compute_place(url)
    if not place:
        return []
    rows = Provider.objects.order_by("pk").only("name", "url", "approval_policy")
    return [row for row in rows if row.pk != besides and compute_place(row.url) == place]


def find_duplicates() -> dict[int, tuple[str, list[str]]]:
    """Of the providers that are synced: each that is not the first at its address by primary key, with its
    name and those of all others there. One query."""
    groups: dict[str, list[tuple[int, str]]] = {}
    rows = Provider.objects.filter(is_enabled=True).order_by("pk").values_list("pk", "name", "url")
    for pk, name, url in rows:
        if place := compute_place(url):
            groups.setdefault(place, []).append((pk, name))
    return {
        pk: (name, [other for other_pk, other in group if other_pk != pk])
        for group in groups.values()
        for pk, name in group[1:]
    }


def list_warnings(row: Provider, values: Mapping[str, Any]) -> list[str]:
    """Warnings for whoever registered or changed a provider with these values, one text each."""
    if "url" not in values and not values.get("is_enabled"):
        return []
    others = [other.name for other in find_namesakes(row.url, besides=row.pk)]
    return [describe_duplicate(row.name, others)] if others else []


def describe_duplicate(name: str, others: Sequence[str]) -> str:
    """What it means that one address is registered several times, and what to do."""
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return (
        f"{name} has the same address as {', '.join(others[:_NAMED])}{more}. It is one service: its "
        "records are read and shown once for each name, and two transfers may write there at the "
        "same time. Keep one provider: delete the others, or switch off their sync."
    )


@dataclass(frozen=True)
class ProviderPage:
    """What the page of a provider shows. The newest sync is last."""

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


def fetch_provider_page(actor: Actor, provider: Provider, now: datetime) -> ProviderPage:
    """What the page of one provider shows that the actor may read."""
    held = HeldSnapshot.objects.filter(
        provider=provider.pk, status__in=[HeldSnapshot.Status.OPEN, HeldSnapshot.Status.ACCEPTED]
    )
    states = count_by(actor, KeptCount.Noun.RECORD_SET, "state", provider=provider.pk)
    syncs = SyncRun.objects.filter(provider=provider.pk)
    freezes = active_freezes(now).filter(Q(provider=provider.pk) | Q(provider=None))
    findings = Finding.objects.filter(provider=provider.pk, state=Finding.State.OPEN)
    return ProviderPage(
        syncs=list(readable(actor, syncs)[:STRIP_LENGTH])[::-1],
        held=readable(actor, held).defer("body").first(),
        freezes=list(readable(actor, freezes)[:20]),
        findings=list(readable(actor, findings)[:20]),
        states=dict(states),
    )


def active_freezes(now: datetime) -> QuerySet[Freeze]:
    """Freezes that apply now or later."""
    return (
        Freeze.objects.filter(Q(ends_at=None) | Q(ends_at__gt=now))
        .select_related("provider", "owner")
        .defer(*PROVIDER_SECRETS)
    )


def build_is_set(column: str) -> Case:
    """Whether a secret is stored, without loading it."""
    return Case(When(**{column: ""}, then=Value(False)), default=Value(True), output_field=BooleanField())  # noqa: FBT003


def describe_freshness(provider: Provider, now: datetime) -> str:
    """`mirror of 14:02` (UTC) and, where it matters, why it is not newer."""
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
