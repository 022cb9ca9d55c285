"""What is counted where it happens, for `/metrics`. Labels are few: no names of records, and a bounded number
of providers. docs/monitoring.md says what each means; what is state is read in `queries/measurements.py`.
"""

from threading import Lock

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

# Without them one process shows the same names as several.
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
# Beyond them a provider is counted as one of the others. Each label makes some twenty series.
MOST_PROVIDERS = 1_000
OTHER_PROVIDERS = "(others)"

_LONG = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_SHORT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

SYNCS = Counter("dnsadmin_syncs", "Syncs that ended, by result", ("provider", "result"), registry=REGISTRY)
SYNC_SECONDS = Histogram(
    "dnsadmin_sync_duration_seconds", "How long a sync took", ("provider",), buckets=_LONG, registry=REGISTRY
)
SYNC_BYTES = Gauge(
    "dnsadmin_sync_response_bytes",
    "Size of the last response of a provider",
    ("provider",),
    multiprocess_mode="mostrecent",
    registry=REGISTRY,
)
READINGS_DIFFERED = Counter(
    "dnsadmin_sync_readings_differed",
    "Syncs in which reading a part came to another result than reading the whole",
    ("provider",),
    registry=REGISTRY,
)
TRANSFER_CHANGES = Counter(
    "dnsadmin_transfer_changes", "Transfers that changed to a status", ("status",), registry=REGISTRY
)
GUARD_REQUESTS = Counter(
    "dnsadmin_guard_requests", "Requests that the guard answered", ("call", "status"), registry=REGISTRY
)
GUARD_SECONDS = Histogram(
    "dnsadmin_guard_request_duration_seconds",
    "How long the guard took to answer",
    ("call",),
    buckets=_SHORT,
    registry=REGISTRY,
)
GUARD_DECISIONS = Counter(
    "dnsadmin_guard_decisions",
    "Names that an instance asked to change and that the guard refused or held, or would have",
    ("outcome", "rule"),
    registry=REGISTRY,
)
GUARD_SENT = Counter(
    "dnsadmin_guard_changes_sent", "Record sets and claims that the guard sent changes of", registry=REGISTRY
)
HTTP_REQUESTS = Counter(
    "dnsadmin_http_requests",
    "Requests that the web role answered",
    ("area", "method", "status"),
    registry=REGISTRY,
)
HTTP_SECONDS = Histogram(
    "dnsadmin_http_request_duration_seconds",
    "How long the web role took to answer",
    ("area",),
    buckets=_SHORT,
    registry=REGISTRY,
)

_providers: set[str] = set()
_lock = Lock()


def label_provider(name: str) -> str:
    """The label of a provider in this process: its name, or one for all that are too many."""
    with _lock:
        if name not in _providers and len(_providers) >= MOST_PROVIDERS:
            return OTHER_PROVIDERS
        _providers.add(name)
    return name
