"""Ways in which a Kubernetes API fails. Below HTTP they are in `tests.faults.framing_faults`."""

from collections.abc import Callable, Collection

from tests.faults.fault import Fault, FaultPlan
from tests.faults.framing_faults import reset_connection
from tests.kubernetes_api.application import find_route
from tests.kubernetes_api.objects import Kind
from tests.kubernetes_api.status import ApiError
from tests.servers.exchange import Exchange


class KubernetesFaults(FaultPlan):
    """Which request meets which fault.

    A route is a method and a path, as everywhere, or a verb and a resource with a slash before it:
    `plan("update /configmaps", ...)`, `plan("update /dnsrecords/status", ...)`.
    """

    def __init__(self, kinds: Collection[Kind]) -> None:
        super().__init__()
        self._kinds = kinds

    def intercept(self, exchange: Exchange) -> bool:
        route = find_route(exchange.request, self._kinds)
        fault = self._next(f"{route.verb} /{route.resource}") if route else None
        if fault is None:
            return super().intercept(exchange)
        fault.play(exchange, self)
        return True


def error(
    code: int = 500, reason: str = "InternalError", message: str = "etcdserver: leader changed"
) -> Fault:
    """A Status of any code, and nothing was done."""
    answer = ApiError(code, reason, message).answer()
    return Fault(f"error {code}", lambda exchange, _plan: exchange.send(answer))


def applied_then_error(code: int = 500) -> Fault:
    """The write is made, and the answer is an error."""
    answer = ApiError(code, "InternalError", "context deadline exceeded").answer()
    return _applied("applied then error", lambda exchange: exchange.send(answer))


def applied_then_reset() -> Fault:
    """The write is made, and the connection is reset before anything is answered."""
    return _applied("applied then reset", reset_connection)


def applied_then_silence() -> Fault:
    """The write is made, and the client never hears of it."""
    return _applied("applied then silence", Exchange.hold)


def applied_then_cut(at: int = 10) -> Fault:
    """The write is made, and the answer is cut off in the middle of its body."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        answer = exchange.answer()
        exchange.send_head(answer.status, (*answer.headers, ("Content-Length", str(len(answer.body)))))
        exchange.send_bytes(answer.body[:at])

    return Fault("applied then cut", play)


def slow(seconds: float) -> Fault:
    """The right answer, after a while."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        exchange.stopping.wait(seconds)
        exchange.send(exchange.answer())

    return Fault("slow", play)


def meanwhile(act: Callable[[], object]) -> Fault:
    """Somebody else acts after the request came and before it is followed; it is then answered normally."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        act()
        exchange.send(exchange.answer())

    return Fault("meanwhile", play)


def _applied(name: str, finish: Callable[[Exchange], None]) -> Fault:
    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        answer = exchange.answer()
        if answer.status >= 300:
            # A fault that promises an effect must not pass for played when there was none.
            raise RuntimeError(f"The API refused what the fault applies: {answer.body.decode()}")
        finish(exchange)

    return Fault(name, play)
