"""What a server was asked, for tests and for people who debug a client."""

import threading
from collections import OrderedDict

import msgspec

from providers.servers.wsgi_application import Request

_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
_HIDDEN = "(hidden)"


class PastRequest(msgspec.Struct, frozen=True):
    """One request as it came, secrets hidden. `status` is None while under way, 0 if no answer was sent."""

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int | None = None
    seconds: float = 0.0
    query: str = ""


class History:
    """The last requests, oldest first; bounded by number and by bytes of bodies."""

    def __init__(self, *, most_requests: int = 10_000, most_bytes: int = 256 * 2**20) -> None:
        self._changed = threading.Condition()
        self._requests: OrderedDict[int, PastRequest] = OrderedDict()
        self._bytes = 0
        self._most_requests = most_requests
        self._most_bytes = most_bytes

    def arrived(self, number: int, request: Request) -> None:
        headers = {
            name: _HIDDEN if name in _SECRET_HEADERS else value for name, value in request.headers.items()
        }
        with self._changed:
            self._requests[number] = PastRequest(
                number, request.method, request.path, headers, request.body, query=request.query
            )
            self._bytes += len(request.body)
            while len(self._requests) > self._most_requests or (
                self._bytes > self._most_bytes and len(self._requests) > 1
            ):
                self._bytes -= len(self._requests.popitem(last=False)[1].body)
            self._changed.notify_all()

    def answered(self, number: int, status: int, seconds: float) -> None:
        with self._changed:
            past = self._requests.get(number)
            if past is not None:
                self._requests[number] = msgspec.structs.replace(past, status=status, seconds=seconds)
            self._changed.notify_all()

    def requests(self, route: str = "") -> tuple[PastRequest, ...]:
        """All requests kept, or those of one route such as `POST /records`."""
        with self._changed:
            return self._of(route)

    def wait_for(self, route: str, count: int, *, seconds: float = 5.0) -> tuple[PastRequest, ...]:
        """The finished requests of a route, once there are so many. Raises TimeoutError if not in time."""

        def finished() -> tuple[PastRequest, ...]:
            return tuple(each for each in self._of(route) if each.status is not None)

        with self._changed:
            if not self._changed.wait_for(lambda: len(finished()) >= count, seconds):
                raise TimeoutError(f"{len(finished())} of {count} requests {route} within {seconds} s.")
            return finished()

    def settled(self, *, seconds: float = 5.0) -> tuple[PastRequest, ...]:
        """All requests kept, once none of them is under way: a client has its answer a moment before it is
        noted here. Raises TimeoutError if that takes too long."""
        with self._changed:
            if not self._changed.wait_for(self._is_idle, seconds):
                raise TimeoutError(f"A request is under way for more than {seconds} s.")
            return self._of("")

    def clear(self) -> None:
        """Forget everything so far."""
        with self._changed:
            self._requests.clear()
            self._bytes = 0

    def _of(self, route: str) -> tuple[PastRequest, ...]:
        return tuple(each for each in self._requests.values() if route in ("", f"{each.method} {each.path}"))

    def _is_idle(self) -> bool:
        return all(each.status is not None for each in self._requests.values())
