"""Watches: events as a stream of chunks, from a version on, until nobody listens any more."""

import time

from providers.registries.kubernetes_object import KubernetesObject
from providers.stores.kubernetes.objects import encode_object
from tests.faults.fault import FaultPlan
from tests.kubernetes_api.application import KubernetesApplication, Route, read_query
from tests.kubernetes_api.objects import ObjectStore
from tests.kubernetes_api.status import JSON_HEADERS, ApiError
from tests.servers.exchange import Exchange

_LONGEST_WATCH = 30.0
_STEP_SECONDS = 0.05


class Watches:
    """Follows requests with `?watch=1` and leaves all others to the planned faults, then the application."""

    def __init__(self, application: KubernetesApplication, store: ObjectStore, faults: FaultPlan) -> None:
        self._application = application
        self._store = store
        self._faults = faults

    def intercept(self, exchange: Exchange) -> bool:
        if self._faults.intercept(exchange):
            return True
        try:
            route = self._application.find_watch(exchange.request)
        except ApiError as error:
            exchange.send(error.answer())
            return True
        if route is None:
            return False
        self._follow(exchange, route)
        return True

    def _follow(self, exchange: Exchange, route: Route) -> None:
        query = read_query(exchange.request)
        seconds = min(float(query.get("timeoutSeconds", _LONGEST_WATCH)), _LONGEST_WATCH)
        seen = int(query.get("resourceVersion") or 0)
        framing = (("Transfer-Encoding", "chunked"), ("Connection", "close"))
        exchange.send_head(200, (*JSON_HEADERS, *framing))
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at and not exchange.stopping.is_set() and not exchange.client_left():
            if self._is_forgotten(seen):
                gone = ApiError(410, "Expired", f"too old resource version: {seen}")
                _send_event(exchange, "ERROR", gone.status())
                break
            seen = self._send_new(exchange, route, seen)
            with self._store.changed:
                self._store.changed.wait(_STEP_SECONDS)
        exchange.send_bytes(b"0\r\n\r\n")

    def _send_new(self, exchange: Exchange, route: Route, seen: int) -> int:
        with self._store.changed:
            events = [each for each in self._store.events if each.version > seen]
        for event in events:
            if (event.plural, event.namespace) == (route.kind.plural, route.namespace):
                _send_event(exchange, event.type, event.obj)
        return events[-1].version if events else seen

    def _is_forgotten(self, seen: int) -> bool:
        with self._store.changed:
            events = self._store.events
            return bool(events) and len(events) == events.maxlen and seen < events[0].version - 1


def _send_event(exchange: Exchange, kind: str, obj: KubernetesObject) -> None:
    line = encode_object({"type": kind, "object": obj}) + b"\n"
    exchange.send_bytes(b"%x\r\n%b\r\n" % (len(line), line))
