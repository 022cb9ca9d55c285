"""Ways in which `POST /records` does not do what its answer says. Only a fresh read tells what happened."""

from collections.abc import Callable

import msgspec

from providers.backends.single_change import join_changes, single_changes
from providers.servers.wsgi_application import Answer, plain_answer
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import decode_change_set_strict, encode_change_set
from tests.faults.fault import Fault, FaultPlan
from tests.faults.framing_faults import reset_connection
from tests.servers.exchange import Exchange

_MOST_ITEMS = 200_000
_DONE = Answer(204)


def error_before_applying(code: int = 500) -> Fault:
    """An error, and nothing was applied."""
    return Fault(
        "error before applying",
        lambda exchange, _plan: exchange.send(plain_answer(code, "Nothing was applied.")),
    )


def applied_then_error(code: int = 500) -> Fault:
    """An error, though everything was applied."""
    return _applied("applied then error", lambda exchange: exchange.send(plain_answer(code, "It failed.")))


def applied_then_silence() -> Fault:
    """Everything was applied, and the client never hears of it."""
    return _applied("applied then silence", Exchange.hold)


def applied_then_reset() -> Fault:
    """Everything was applied, and the connection is reset."""
    return _applied("applied then reset", reset_connection)


def first_applied(count: int, code: int = 500) -> Fault:
    """Only the first changes are applied (in the backend's order), and the answer is this status."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        changes = single_changes(_change_set(exchange))
        applied = exchange.answer_to(encode_change_set(join_changes(changes[:count])))
        _raise_if_not_applied(applied)
        exchange.send(_DONE if code == _DONE.status else plain_answer(code, "Some of it failed."))

    return Fault(f"first {count} applied", play)


def success_with_nothing_applied() -> Fault:
    """204, and nothing changed."""
    return Fault("success with nothing applied", lambda exchange, _plan: exchange.send(_DONE))


def success_with_something_else(change: Callable[[Endpoint], Endpoint] | None = None) -> Fault:
    """204, and what was applied is not what was sent: another owner in TXT, another TTL elsewhere."""
    altered = change or _something_else

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        asked = _change_set(exchange)
        made = msgspec.structs.replace(
            asked,
            create=tuple(altered(each) for each in asked.create),
            update_new=tuple(altered(each) for each in asked.update_new),
        )
        _raise_if_not_applied(exchange.answer_to(encode_change_set(made)))
        exchange.send(_DONE)

    return Fault("success with something else applied", play)


def delivered_twice() -> Fault:
    """Something in between delivers the request twice; the client gets the second answer."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        exchange.answer()
        exchange.send(exchange.answer())

    return Fault("delivered twice", play)


def applied_late(*, reads: int = 1, code: int = 204) -> Fault:
    """The answer is given at once, the change is made only after so many reads (or at `deliver_late`)."""

    def play(exchange: Exchange, plan: FaultPlan) -> None:
        plan.postpone(lambda: _raise_if_not_applied(exchange.answer()), reads=reads)
        exchange.send(_DONE if code == _DONE.status else plain_answer(code, "It failed."))

    return Fault("applied late", play)


def meanwhile(action: Callable[[], None]) -> Fault:
    """Somebody else acts between our last read and this request, which is then answered normally."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        action()
        exchange.send(exchange.answer())

    return Fault("meanwhile", play)


def _applied(name: str, finish: Callable[[Exchange], None]) -> Fault:
    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        _raise_if_not_applied(exchange.answer())
        finish(exchange)

    return Fault(name, play)


def _raise_if_not_applied(answer: Answer) -> None:
    """A fault that promises an effect must not pass for played when the backend refused it."""
    if answer.status != _DONE.status:
        raise RuntimeError(
            f"The backend refused what the fault applies: {answer.body.decode('utf-8', 'replace')}"
        )


def _change_set(exchange: Exchange) -> ChangeSet:
    return decode_change_set_strict(exchange.request.body, max_items=_MOST_ITEMS)


def _something_else(endpoint: Endpoint) -> Endpoint:
    if endpoint.record_type == "TXT":
        other = '"heritage=external-dns,external-dns/owner=somebody-else"'
        return msgspec.structs.replace(endpoint, targets=(other,))
    return msgspec.structs.replace(endpoint, record_ttl=endpoint.record_ttl + 1)
