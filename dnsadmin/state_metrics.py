"""The state of the whole installation as metrics: read at a scrape of the web role, every 5 seconds at most.

Every web process of any number of replicas shows the same; a query takes the maximum.
"""

import time
from collections.abc import Iterable, Iterator
from threading import Lock

from django.db import close_old_connections, connections
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from registry_app.errors import DATABASE_ERRORS
from registry_app.queries.broker import fetch_queue_length
from registry_app.queries.heartbeat import fetch_heartbeat_ages
from registry_app.queries.invariants import fetch_last_checks
from registry_app.queries.measurements import Measurements, ProviderMeasures, fetch_measurements

_KEPT_SECONDS = 5.0
_Sample = tuple[tuple[str, ...], float]


class StateCollector(Collector):
    """Reads the database, the broker and the cache. What cannot be read is missing, and said to be down."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._read_at = -_KEPT_SECONDS
        self._families: list[Metric] = []

    def collect(self) -> Iterable[Metric]:
        with self._lock:
            if time.monotonic() - self._read_at >= _KEPT_SECONDS:
                self._families = [*_collect_database(), *_collect_broker()]
                self._read_at = time.monotonic()
            return self._families


def _collect_database() -> Iterator[Metric]:
    # As Django does before each request, which this is none of; and no thread keeps one for a scrape.
    close_old_connections()
    try:
        measured: Measurements | None = fetch_measurements()
    except DATABASE_ERRORS:
        measured = None
    finally:
        connections.close_all()
    yield _gauge("dnsadmin_database_up", "Whether the state could be read", measured is not None)
    if measured is not None:
        yield from _build_providers(measured.providers)
        yield from _build_counts(measured)


def _build_providers(rows: Iterable[ProviderMeasures]) -> Iterator[Metric]:
    rows = list(rows)
    for name, text, values in (
        ("up", "0: the last sync failed, or there was none yet", [each.is_up for each in rows]),
        ("snapshot_held", "1: its snapshot is held for a person", [each.is_held for each in rows]),
        ("sync_age_seconds", "Time since its last sync", [each.sync_age for each in rows]),
        ("mirror_age_seconds", "Time since the mirror last matched it", [each.mirror_age for each in rows]),
        ("sync_interval_seconds", "How often it is to be synced", [each.interval for each in rows]),
        ("record_sets", "Record sets in its mirror", [each.record_sets for each in rows]),
        ("claims", "Claims in its mirror", [each.claims for each in rows]),
    ):
        samples = [((row.name,), value) for row, value in zip(rows, values, strict=True) if value is not None]
        yield _labelled(f"dnsadmin_provider_{name}", text, ("provider",), samples)


def _build_counts(measured: Measurements) -> Iterator[Metric]:
    yield _labelled(
        "dnsadmin_record_sets",
        "Record sets in the mirror, by state of ownership",
        ("state",),
        [((state,), amount) for state, amount in measured.record_sets.items()],
    )
    yield _labelled(
        "dnsadmin_findings",
        "Open findings",
        ("kind", "severity"),
        [((kind, severity), amount) for kind, severity, amount in measured.findings],
    )
    yield _labelled(
        "dnsadmin_transfers",
        "Transfers that are not over",
        ("status",),
        [((status,), amount) for status, amount in measured.transfers.items()],
    )
    for name, text, value in (
        (
            "transfer_oldest_waiting_seconds",
            "Wait of the oldest for its approval",
            measured.waiting_for_approval,
        ),
        ("transfer_oldest_unfinished_seconds", "Time since the oldest was approved", measured.unfinished),
        ("syncs_due", "Syncs that are due and not begun", measured.due_syncs.amount),
        ("sync_queue_lag_seconds", "How late the first of them is", measured.due_syncs.oldest),
        ("held_deletes", "Deletes that the guard holds for a person", measured.held_deletes.amount),
        ("held_delete_oldest_seconds", "Wait of the oldest of them", measured.held_deletes.oldest),
    ):
        yield _gauge(f"dnsadmin_{name}", text, value)


def _collect_broker() -> Iterator[Metric]:
    try:
        length, ages, checks = fetch_queue_length(), fetch_heartbeat_ages(), fetch_last_checks()
    except RedisError:
        yield _gauge("dnsadmin_broker_up", "Whether the broker answered", 0)
        return
    yield _gauge("dnsadmin_broker_up", "Whether the broker answered", 1)
    yield _gauge("dnsadmin_broker_queue_tasks", "Tasks that no worker has taken yet", length)
    yield _labelled(
        "dnsadmin_heartbeat_age_seconds",
        "Time since any process of a role showed that it runs",
        ("role",),
        [((role,), age) for role, age in ages.items()],
    )
    yield _labelled(
        "dnsadmin_invariant_violations",
        "Violations at the last check of an invariant",
        ("invariant",),
        [((invariant,), check.count) for invariant, check in checks.items()],
    )
    yield _labelled(
        "dnsadmin_invariant_check_age_seconds",
        "Time since an invariant was last checked",
        ("invariant",),
        [((invariant,), check.age) for invariant, check in checks.items()],
    )


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=float(value))


def _labelled(name: str, text: str, labels: tuple[str, ...], samples: Iterable[_Sample]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in samples:
        family.add_metric(values, float(value))
    return family
