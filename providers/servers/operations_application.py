"""`/healthz` and `/metrics` of a provider server: its metrics, and the application that shows them."""

from collections.abc import Sequence

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.process_collector import ProcessCollector

from providers.backends.errors import Reason
from providers.servers.wsgi_application import Answer, Request, WsgiApplication, plain_answer

_ROUTES = {"": "negotiate", "/": "negotiate", "/records": "records", "/adjustendpoints": "adjustendpoints"}
_METHODS = ("GET", "POST")


class RequestMetrics:
    """Counts the requests of one server in a registry of its own. No names, no addresses: bounded labels."""

    def __init__(self, base_path: str = "") -> None:
        self._base_path = base_path.rstrip("/")
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "dnsadmin_provider_requests",
            "Requests answered by this provider server",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "dnsadmin_provider_request_seconds",
            "Time from a request's head until its answer is ready",
            ("route",),
            registry=self.registry,
        )

        self._left_out = Counter(
            "dnsadmin_provider_left_out",
            "Changes that were not made (change) and wanted endpoints that cannot be held (endpoint)",
            ("kind", "reason"),
            registry=self.registry,
        )

    def left_out(self, kind: str, reasons: Sequence[Reason]) -> None:
        for reason in reasons:
            self._left_out.labels(kind, reason.value).inc()

    def answered(self, request: Request, status: int, seconds: float) -> None:
        route = _ROUTES.get(request.path.removeprefix(self._base_path), "other")
        method = request.method if request.method in _METHODS else "other"
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)


class OperationsApplication(WsgiApplication):
    """Answers a scheduler's and a monitoring system's questions."""

    def __init__(self, metrics: RequestMetrics) -> None:
        super().__init__()
        self._metrics = metrics

    def answer(self, request: Request) -> Answer:
        if request.method != "GET":
            return plain_answer(400, "Only GET is known here.")
        if request.path == "/healthz":
            return plain_answer(200, "ok")
        if request.path == "/metrics":
            body = prometheus_client.generate_latest(self._metrics.registry)
            return Answer(200, (("Content-Type", prometheus_client.CONTENT_TYPE_PLAIN_0_0_4),), body)
        return plain_answer(404, "There is nothing here; paths are /healthz and /metrics.")
