"""Faults a provider really shows, planned request by request. For tests: no production server has a plan."""

import threading
from collections.abc import Callable

import msgspec

from tests.servers.exchange import Exchange


class Fault(msgspec.Struct, frozen=True):
    """One way in which a provider fails: it takes over the exchange and finishes it."""

    name: str
    play: Callable[[Exchange, "FaultPlan"], None]


class _Planned(msgspec.Struct):
    fault: Fault
    passes: int  # requests of the route that are still answered normally before it
    times: int | None  # None: for ever


class _Late(msgspec.Struct):
    reads: int
    deliver: Callable[[], None]


class FaultPlan:
    """Which request meets which fault. Faults of one route are played in the order they were planned."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._planned: dict[str, list[_Planned]] = {}
        self._late: list[_Late] = []
        self._played: list[str] = []

    def plan(self, route: str, fault: Fault, *, times: int | None = 1, after: int = 0) -> None:
        """Let the next `times` requests of a route (`GET /records`) meet a fault, `after` good ones first."""
        if route.count(" ") != 1 or not route.partition(" ")[2].startswith("/"):
            raise ValueError(f"A route is a method and a path, such as 'GET /records', not {route!r}.")
        with self._lock:
            self._planned.setdefault(route, []).append(_Planned(fault, after, times))

    def clear(self) -> None:
        """Plan nothing any more: from now on every request is answered as it should be."""
        with self._lock:
            self._planned.clear()

    def played(self) -> tuple[str, ...]:
        """The names of the faults met so far, in order."""
        with self._lock:
            return tuple(self._played)

    def intercept(self, exchange: Exchange) -> bool:
        route = f"{exchange.request.method} {exchange.request.path}"
        if route.startswith("GET ") and route.endswith("/records"):
            self._count_read()
        fault = self._next(route)
        if fault is None:
            return False
        fault.play(exchange, self)
        return True

    def postpone(self, deliver: Callable[[], None], *, reads: int) -> None:
        """Keep something to do until so many reads have passed, or until `deliver_late` is called."""
        with self._lock:
            self._late.append(_Late(reads, deliver))

    def deliver_late(self) -> int:
        """Do everything that was postponed, now. Returns how many that were."""
        with self._lock:
            due, self._late = self._late, []
        for each in due:
            each.deliver()
        return len(due)

    def _count_read(self) -> None:
        with self._lock:
            due = [each for each in self._late if each.reads <= 0]
            self._late = [each for each in self._late if each.reads > 0]
            for each in self._late:
                each.reads -= 1
        for each in due:
            each.deliver()

    def _next(self, route: str) -> Fault | None:
        with self._lock:
            planned = self._planned.get(route, [])
            if not planned:
                return None
            first = planned[0]
            if first.passes > 0:
                first.passes -= 1
                return None
            if first.times is not None:
                first.times -= 1
                if first.times <= 0:
                    planned.pop(0)
            self._played.append(first.fault.name)
            return first.fault
