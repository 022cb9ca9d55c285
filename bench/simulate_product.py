"""The product in a simulation: its tasks, leases and rows are real, the providers and the clocks are not.

The database's clock, this machine's clock, the client of a provider and Celery's `send_task` are replaced, in
a process that does nothing else.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, connections
from django.db.models import Count
from django.utils import timezone

from bench.simulate_fleet import (
    Scenario,
    SimulatedProvider,
    compute_fetch_seconds,
    compute_processing_seconds,
)
from bench.simulate_queue import Message
from bench.simulate_timeline import Timeline
from dnsadmin.celery import app
from providers.client.protocol_clients import WebhookClient
from providers.client.provider_client import RecordsAnswer
from providers.http.errors import FailedAtProvider, NothingCameInTime
from providers.wire.domain_filter import DomainFilter, ParsedFilter
from registry_app import tasks
from registry_app.mirror import client as client_module
from registry_app.mirror.body_digest import compute_body_digest
from registry_app.mirror.domain_filter import NegotiatedFilter
from registry_app.mirror.reading import _digest, compute_accepted_digest, fetch_reading
from registry_app.mirror.snapshot import compute_response_digest
from registry_app.models import Provider, SyncRun

START = datetime(2026, 1, 1, tzinfo=UTC)
_CLOCKS = ("SELECT clock_timestamp()", "SELECT strftime(")
_WRITES = ("INSERT", "UPDATE", "DELETE")
_MEDIA_TYPE = WebhookClient.media_type


class Statements:
    """Counts what goes to the database, answers for its clock."""

    def __init__(self, timeline: Timeline) -> None:
        self.counts: Counter[str] = Counter()
        self._timeline = timeline

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 - Django's signature
        self.counts["statements"] += 1
        if sql.startswith(_WRITES):
            self.counts["writes"] += 1
        if sql.startswith(_CLOCKS):
            now = START + timedelta(seconds=self._timeline.now)
            if connection.vendor == "postgresql":
                return execute("SELECT %s::timestamptz", (now,), many, context)
            return execute("SELECT %s", (now.replace(tzinfo=None).isoformat(),), many, context)
        started = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            self.counts["database_microseconds"] += round(1e6 * (time.perf_counter() - started))


class Providers:
    """What the simulated providers answer, and when; how long after it was due each was asked."""

    def __init__(self, fleet: Sequence[SimulatedProvider], scenario: Scenario, timeline: Timeline) -> None:
        self.counts: Counter[str] = Counter()
        self.due: dict[int, float] = {}
        self.lags: list[float] = []
        self._fleet, self._scenario, self._timeline = fleet, scenario, timeline
        self._versions = [0] * len(fleet)
        self._dice = random.Random(scenario.seed + 1)

    def read_due(self, provider_id: int | None = None) -> None:
        """Note when the next sync of a provider is due, or those of all; not counted as a statement."""
        rows = Provider.objects.order_by()
        if provider_id is not None:
            rows = rows.filter(pk=provider_id)
        with _uncounted():
            found = list(rows.values_list("url", "next_sync_at"))
        for url, at in found:
            self.due[read_number(url)] = ((at or START) - START).total_seconds()

    def answer(self, number: int) -> RecordsAnswer:
        """Let the time of a sync pass, from the request until everything is stored. A lease is renewed
        before and after it, as it is while a large answer is decoded."""
        provider, costs = self._fleet[number], self._scenario.costs
        self.counts["syncs"] += 1
        started = self._timeline.now
        self.lags.append(started - self.due[number])
        if provider.is_down:
            self._timeline.sleep(costs.deadline + costs.sync)
            self.counts["failed"] += 1
            raise NothingCameInTime("No answer came in time.")
        if self._dice.random() < self._scenario.failing_share:
            self._timeline.sleep(provider.latency + costs.sync)
            self.counts["failed"] += 1
            raise FailedAtProvider("The provider answered 500.")
        is_changed = self._dice.random() < self._scenario.changed_share
        if is_changed:
            self._versions[number] += 1
            self.counts["changed"] += 1
            self.counts["changed_record_sets"] += provider.record_sets // 100
        processing = compute_processing_seconds(provider, costs, is_changed=is_changed)
        self.counts["processing_microseconds"] += round(1e6 * processing)
        self._timeline.sleep(compute_fetch_seconds(provider, costs) + processing)
        return build_answer(number, self._versions[number], self._timeline.now - started)


def build_answer(number: int, version: int, seconds: float = 0.0) -> RecordsAnswer:
    """A response of one record set, which stands for all of the provider."""
    target = f"10.{version >> 16 & 255}.{version >> 8 & 255}.{version & 255}"
    body = f'[{{"dnsName":"www.zone-{number}.example.org","targets":["{target}"],"recordType":"A"}}]'.encode()
    return RecordsAnswer(body, _MEDIA_TYPE, seconds)


def install(timeline: Timeline, providers: Providers, send_task: Callable[..., None]) -> Statements:
    """Replace what is simulated, for the rest of this process."""

    class SimulatedClient(WebhookClient):
        """Asks the simulation."""

        def negotiate(self) -> ParsedFilter:
            return ParsedFilter(DomainFilter(), said_filters=False)

        def records(self) -> RecordsAnswer:
            address = self._http.address if self._http else None
            return providers.answer(read_number(address.base_url if address else ""))

    statements = Statements(timeline)
    connection.execute_wrappers.append(statements)
    timezone.now = lambda: START + timedelta(seconds=timeline.now)
    client_module.WebhookClient = SimulatedClient  # type: ignore[attr-defined]
    app.send_task = send_task  # type: ignore[assignment, method-assign]
    return statements


def read_number(url: str) -> int:
    """Of the provider at this address."""
    return int(url.partition("//zone-")[2].partition(".")[0])


@contextmanager
def shared_connection() -> Iterator[Callable[[], None]]:
    """What a thread calls to use the connection of this one, and the product's Celery application; only one
    of them runs at any moment."""
    main = connections["default"]
    main.inc_thread_sharing()

    def use() -> None:
        connections["default"] = main
        app.set_current()

    yield use
    main.dec_thread_sharing()


def store_fleet(fleet: Sequence[SimulatedProvider], scenario: Scenario) -> None:
    """A row for each provider, synced before, the next syncs spread over one interval."""
    dice = random.Random(scenario.seed + 2)
    rows = [_build_row(each, scenario, dice) for each in fleet]
    # All are read alike, so what is registered is fetched once.
    rows[0].save()
    reading = fetch_reading(rows[0])
    for number, row in enumerate(rows):
        digest = compute_response_digest(compute_body_digest(build_answer(number, 0).body), ())
        own = _digest(reading.profiles, tuple(reading.owners.values()), row, reading.registries)
        row.accepted_digest = compute_accepted_digest(digest, _MEDIA_TYPE, replace(reading, digest=own))
    rows[0].save()
    Provider.objects.bulk_create(rows[1:], batch_size=500)


def _build_row(each: SimulatedProvider, scenario: Scenario, dice: random.Random) -> Provider:
    accepted = START - timedelta(seconds=scenario.interval)
    wait = dice.random() * (3600 if each.is_down else scenario.interval)
    negotiated = NegotiatedFilter(negotiated_at=(START - dice.random() * timedelta(minutes=10)).isoformat())
    return Provider(
        name=f"zone-{each.number}",
        url=f"http://zone-{each.number}.example.org",
        interval_seconds=scenario.interval,
        deadline_seconds=round(scenario.costs.deadline),
        record_set_count=each.record_sets,
        accepted_at=accepted,
        last_sync_at=accepted,
        next_sync_at=START + timedelta(seconds=wait),
        accepted_snapshots=1,
        consecutive_failures=each.failures,
        status=Provider.Status.FAILING if each.failures else Provider.Status.OK,
        domain_filter=negotiated.to_json(),
    )


@contextmanager
def _uncounted() -> Iterator[None]:
    kept = list(connection.execute_wrappers)
    connection.execute_wrappers.clear()
    try:
        yield
    finally:
        connection.execute_wrappers.extend(kept)


def count_runs() -> dict[str, int]:
    """How many syncs ended how, by status."""
    return dict(SyncRun.objects.order_by("status").values_list("status").annotate(Count("pk")))


def run_task(message: Message) -> None:
    """Run it as a worker does."""
    getattr(tasks, message.name.rpartition(".")[2])(*message.arguments)
