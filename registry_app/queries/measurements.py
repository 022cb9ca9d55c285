"""What is true of the whole installation, for `/metrics`: read at a scrape, in a dozen statements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, F, Min
from django.db.models.functions import Coalesce

from registry_app.clock import fetch_now
from registry_app.metrics import MOST_PROVIDERS
from registry_app.models import Finding, HeldDelete, KeptCount, OwnershipState, Provider, Transfer
from registry_app.queries.kept_count import count_all_by
from registry_app.queries.provider import build_free_query, due_providers

_UNFINISHED = tuple(each for each in Transfer.OPEN_STATUSES if each != Transfer.Status.REQUESTED)


class ProviderMeasures(NamedTuple):
    """One provider. Ages are in seconds, by the database's clock, and since it was registered where nothing
    was read yet; None where its sync is off."""

    name: str
    is_up: bool
    is_held: bool
    sync_age: float | None
    mirror_age: float | None
    interval: int
    record_sets: int
    claims: int


class Waiting(NamedTuple):
    """How many rows wait, and for how many seconds the oldest of them."""

    amount: int
    oldest: float


@dataclass(frozen=True)
class Measurements:
    """`transfers` has the open ones by status, `findings` the open ones by kind and severity."""

    providers: Sequence[ProviderMeasures]
    record_sets: Mapping[str, int]
    findings: Sequence[tuple[str, str, int]]
    transfers: Mapping[str, int]
    waiting_for_approval: float
    unfinished: float
    due_syncs: Waiting
    held_deletes: Waiting


def fetch_measurements() -> Measurements:
    """Everything, or an error of the database."""
    now = fetch_now()
    transfers = _fetch_transfers(now)
    return Measurements(
        providers=[_measure(row, now) for row in _fetch_providers()],
        record_sets=_count_record_sets(),
        findings=_count_findings(),
        transfers={status: waiting.amount for status, waiting in transfers.items()},
        waiting_for_approval=transfers[Transfer.Status.REQUESTED].oldest,
        unfinished=max(transfers[status].oldest for status in _UNFINISHED),
        due_syncs=_count_due(now),
        held_deletes=_count_held_deletes(now),
    )


def _fetch_providers() -> list[dict[str, Any]]:
    columns = ("name", "status", "is_enabled", "interval_seconds", "record_set_count", "claim_count")
    times = ("created_at", "last_sync_at", "accepted_at")
    return list(Provider.objects.order_by("pk").values(*columns, *times)[:MOST_PROVIDERS])


def _measure(row: Mapping[str, Any], now: datetime) -> ProviderMeasures:
    is_on = row["is_enabled"]
    return ProviderMeasures(
        name=row["name"],
        is_up=row["status"] in (Provider.Status.OK, Provider.Status.HELD),
        is_held=row["status"] == Provider.Status.HELD,
        sync_age=_age(row["last_sync_at"] or row["created_at"], now) if is_on else None,
        mirror_age=_age(row["accepted_at"] or row["created_at"], now) if is_on else None,
        interval=row["interval_seconds"],
        record_sets=row["record_set_count"],
        claims=row["claim_count"],
    )


def _count_record_sets() -> dict[str, int]:
    counted = dict(count_all_by(KeptCount.Noun.RECORD_SET, "state"))
    return {state.value: counted.get(state.value, 0) for state in OwnershipState}


def _count_findings() -> list[tuple[str, str, int]]:
    counted = count_all_by(KeptCount.Noun.FINDING, "type", "severity", state=Finding.State.OPEN)
    return [(kind, Finding.Severity(severity).name.lower(), amount) for kind, severity, amount in counted]


def _fetch_transfers(now: datetime) -> dict[str, Waiting]:
    """The open ones by status; those that wait for approval since they were requested, the others since they
    were approved."""
    rows = Transfer.objects.filter(status__in=Transfer.OPEN_STATUSES).order_by().values("status")
    found = {
        row["status"]: Waiting(
            row["amount"],
            _age(row["requested" if row["status"] == Transfer.Status.REQUESTED else "approved"], now),
        )
        for row in rows.annotate(
            amount=Count("pk"),
            requested=Min("created_at"),
            approved=Min(Coalesce("approved_at", "created_at")),
        )
    }
    return {status.value: found.get(status.value, Waiting(0, 0.0)) for status in Transfer.OPEN_STATUSES}


def _count_due(now: datetime) -> Waiting:
    """Syncs that no worker has begun, and how long after its time the first of them is."""
    due = due_providers(now).filter(build_free_query(now)).order_by()
    # A provider whose time lies ahead is due where a clock was wrong; it is not late.
    found = due.aggregate(amount=Count("pk"), first=Min(Coalesce(F("next_sync_at"), F("created_at"))))
    return Waiting(found["amount"], _age(found["first"], now))


def _count_held_deletes(now: datetime) -> Waiting:
    held = HeldDelete.objects.filter(status=HeldDelete.Status.HELD).order_by()
    found = held.aggregate(amount=Count("pk"), first=Min("asked_at"))
    return Waiting(found["amount"], _age(found["first"], now))


def _age(at: datetime | None, now: datetime) -> float:
    return max((now - at).total_seconds(), 0.0) if at is not None else 0.0
