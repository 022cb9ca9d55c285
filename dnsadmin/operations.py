"""`/healthz`, `/readyz` and `/metrics` of a role, beside what it serves or at a port of its own."""

import os
import socket
import socketserver
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import msgspec
from django.conf import settings
from django.db import connections
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector

from dnsadmin.metrics_folder import VARIABLE
from dnsadmin.state_metrics import StateCollector
from providers.servers.wsgi_application import (
    Answer,
    Refusal,
    Request,
    RequiredCredential,
    WsgiApplication,
    plain_answer,
)
from registry_app import metrics
from registry_app.queries.readiness import Checks, check_readiness

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
_KEPT_SECONDS = 2.0
_LONGEST_SECONDS = 5.0
_MOST_BODY_BYTES = 1024
_WORDS = {True: "ok", False: "failed", None: "not checked"}


class Readiness:
    """What the last check found. One runs at a time, every two seconds at most, and one that takes longer
    than five has failed. So it loads nothing, however often it is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._checked_at = -_KEPT_SECONDS
        self._found: Checks | None = None
        self._running: threading.Thread | None = None
        self._result: Checks | None = None

    def find(self) -> Checks:
        """The checks of a moment ago."""
        with self._lock:
            if self._found is None or time.monotonic() - self._checked_at >= _KEPT_SECONDS:
                self._found = self._check()
                self._checked_at = time.monotonic()
            return self._found

    def _check(self) -> Checks:
        if self._running is None or not self._running.is_alive():
            self._running, self._result = threading.Thread(target=self._store, daemon=True), None
            self._running.start()
        self._running.join(_LONGEST_SECONDS)
        # A database whose machine is gone answers nothing, not even no.
        return self._result or Checks(database=False)

    def _store(self) -> None:
        try:
            found = check_readiness()
        finally:
            connections.close_all()
        self._result = found


class OperationsApplication(WsgiApplication):
    """Answers a scheduler's and a monitoring system's questions. `has_state`: the metrics are also those of
    the whole installation. Where `is_private`, only who deployed it can reach the address, and no token is
    needed unless there is one."""

    def __init__(self, *, has_state: bool = False, is_private: bool = False) -> None:
        super().__init__(most_body_bytes=_MOST_BODY_BYTES)
        self._readiness = Readiness()
        self._state = StateCollector() if has_state else None
        self._is_private = is_private

    def answer(self, request: Request) -> Answer:
        if request.method not in ("GET", "HEAD"):
            return plain_answer(405, "Only GET is known here.", ("Allow", "GET, HEAD"))
        if request.path == "/healthz":
            return plain_answer(200, "ok")
        if request.path == "/readyz":
            return self._answer_readiness()
        if request.path == "/metrics":
            return self._answer_metrics(request)
        return plain_answer(404, "There is nothing here; paths are /healthz, /readyz and /metrics.")

    def _answer_readiness(self) -> Answer:
        found = self._readiness.find()
        status = "degraded" if found.is_degraded else "ready"
        document = {
            "status": status if found.is_ready else "not ready",
            "checks": {name: _WORDS[is_well] for name, is_well in vars(found).items()},
        }
        headers = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))
        return Answer(200 if found.is_ready else 503, headers, msgspec.json.encode(document) + b"\n")

    def _answer_metrics(self, request: Request) -> Answer:
        token = settings.DNSADMIN_METRICS_TOKEN
        if not token and not self._is_private:
            return plain_answer(403, "Metrics are off here. Set DNSADMIN_METRICS_TOKEN to switch them on.")
        if token:
            credential = RequiredCredential.bearer(token)
            if not credential.is_carried_by(request):
                raise Refusal(401, "Metrics are for who has the token of DNSADMIN_METRICS_TOKEN.")
        return Answer(200, (("Content-Type", CONTENT_TYPE_PLAIN_0_0_4),), self._render())

    def refuse(self, refusal: Refusal) -> Answer:
        challenge = (
            (("WWW-Authenticate", 'Bearer realm="dnsadmin metrics"'),) if refusal.status == 401 else ()
        )
        return plain_answer(refusal.status, str(refusal), *challenge)

    def _render(self) -> bytes:
        registry = CollectorRegistry()
        if VARIABLE in os.environ:
            MultiProcessCollector(registry, os.environ[VARIABLE])  # type: ignore[no-untyped-call]
            counted = generate_latest(registry)
        else:
            counted = generate_latest(metrics.REGISTRY)
        if self._state is None:
            return counted
        registry = CollectorRegistry()
        registry.register(self._state)
        return counted + generate_latest(registry)


class WithOperations:
    """An application, with the operations application at its three paths."""

    def __init__(self, application: "WSGIApplication", operations: OperationsApplication) -> None:
        self._application = application
        self._operations = operations

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        application = self._operations if environ.get("PATH_INFO") in PATHS else self._application
        return application(environ, start_response)


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, host: str, port: int, application: "WSGIApplication") -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)
        self.set_app(application)

    def server_bind(self) -> None:
        """Without asking the DNS for the name of this machine, as the base class does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]  # of IP
        self.setup_environ()


class _Handler(WSGIRequestHandler):
    timeout = 10

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Nothing: it is asked every few seconds."""


def serve_operations(host: str, port: int, application: OperationsApplication) -> WSGIServer:
    """Serve in threads of this process, for a role without a server. Raises OSError where the port cannot be
    used. A process that is forked meanwhile does not serve."""
    server = _Server(host, port, application)
    threading.Thread(target=server.serve_forever, name="operations", daemon=True).start()
    return server
