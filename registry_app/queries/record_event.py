"""Reads of the history of record sets."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count

from providers.wire.endpoint import EndpointKey
from registry_app.models import RecordEvent


@dataclass(frozen=True)
class PastValue:
    """What a record set contained between two changes, and its owner."""

    targets: tuple[str, ...]
    ttl: int
    resource: str
    owner_id: str


# The value of a record set that was not there.
ABSENT = PastValue((), 0, "", "")
_VALUE_KINDS = (RecordEvent.Kind.CHANGED, RecordEvent.Kind.VANISHED, RecordEvent.Kind.RETURNED)
_MOST_HISTORIES = 500


@dataclass(frozen=True)
class RecentChanges:
    """What `count_changing_runs` and `fetch_histories` find of the same time."""

    changing: Mapping[EndpointKey, int]
    histories: Mapping[EndpointKey, tuple[PastValue, ...]]


def fetch_recent_changes(provider_id: int, since: datetime, *, at_least: int) -> RecentChanges:
    """Of record sets that at least so many syncs since then found changed."""
    return RecentChanges(
        count_changing_runs(provider_id, since, at_least=at_least),
        fetch_histories(provider_id, since, at_least=at_least),
    )


def count_changing_runs(provider_id: int, since: datetime, *, at_least: int) -> dict[EndpointKey, int]:
    """In how many syncs since then each record set had another value or owner, where at least so many.
    Changes by transfers do not count."""
    rows = (
        RecordEvent.objects.filter(
            provider_id=provider_id,
            at__gte=since,
            transfer_id__isnull=True,
            kind__in=[RecordEvent.Kind.CHANGED, RecordEvent.Kind.OWNER_CHANGED],
        )
        .order_by()
        .values_list("name", "record_type", "set_identifier")
        .annotate(runs=Count("sync_run_id", distinct=True))
        .filter(runs__gte=at_least)
    )
    return {EndpointKey(name, kind, identifier): runs for name, kind, identifier, runs in rows.iterator()}


def fetch_histories(
    provider_id: int, since: datetime, *, at_least: int
) -> dict[EndpointKey, tuple[PastValue, ...]]:
    """The values each record set had since then, first to last, where at least so many syncs saw another
    value, or that it came or went. The first 500 by name; two queries."""
    events = RecordEvent.objects.filter(provider_id=provider_id, at__gte=since)
    changing = (
        events.filter(kind__in=_VALUE_KINDS)
        .order_by("name", "record_type", "set_identifier")
        .values_list("name", "record_type", "set_identifier")
        .annotate(runs=Count("sync_run_id", distinct=True))
        .filter(runs__gte=at_least)[:_MOST_HISTORIES]
    )
    found: dict[EndpointKey, list[PastValue]] = {EndpointKey(*key): [] for *key, _ in changing}
    if not found:
        return {}
    kinds = (*_VALUE_KINDS, RecordEvent.Kind.OWNER_CHANGED)
    rows = events.filter(name__in={key.name for key in found}, kind__in=kinds).order_by("pk")
    for *key, kind, before, after in rows.values_list(
        "name", "record_type", "set_identifier", "kind", "before", "after"
    ):
        values = found.get(EndpointKey(*key))
        if values is None:
            continue
        if not values:
            values.append(ABSENT if kind == RecordEvent.Kind.RETURNED else _read_value(before))
        if values[-1] != (now := _read_value(after)):
            values.append(now)
    return {key: tuple(values) for key, values in found.items()}


def _read_value(stored: Mapping[str, Any] | None) -> PastValue:
    if stored is None:
        return ABSENT
    return PastValue(
        tuple(sorted(set(stored["targets"]))), stored["ttl"], stored["resource"], stored["owner"]
    )
