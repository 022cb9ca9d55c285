"""Answers that break off, drip, or never come: what goes wrong below the body."""

import socket
import struct
from enum import StrEnum

from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE
from tests.faults.fault import Fault, FaultPlan
from tests.servers.exchange import Exchange

_CONTENT_TYPE = ("Content-Type", WEBHOOK_MEDIA_TYPE)
_CHUNKED = ("Transfer-Encoding", "chunked")
_CLOSE = ("Connection", "close")


class Framing(StrEnum):
    """How the end of a body is known."""

    CONTENT_LENGTH = "content_length"
    CHUNKED = "chunked"
    CLOSE_DELIMITED = "close_delimited"


def reset() -> Fault:
    """The connection is reset before anything is answered. Nothing was applied."""
    return Fault("reset", lambda exchange, _plan: reset_connection(exchange))


def closed() -> Fault:
    """The connection is closed, in good order, before anything is answered. Nothing was applied."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        exchange.closes = True

    return Fault("closed", play)


def silence() -> Fault:
    """The request is read and never answered. Nothing was applied."""
    return Fault("silence", lambda exchange, _plan: exchange.hold())


def headers_only() -> Fault:
    """The head promises a body that does not come."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        exchange.send_head(200, (_CONTENT_TYPE, ("Content-Length", "1000000")))
        exchange.hold()

    return Fault("headers only", play)


def slow_headers(*, pause: float = 0.05) -> Fault:
    """The head drips, byte by byte, and never ends."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        exchange.send_bytes(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        _drip(exchange, None, pause)

    return Fault("slow headers", play)


def slow_drip(*, pause: float = 0.05) -> Fault:
    """The right answer, one byte after the other."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        content = exchange.answer().body
        exchange.send_head(200, (_CONTENT_TYPE, ("Content-Length", str(len(content))), _CLOSE))
        _drip(exchange, content, pause)

    return Fault("slow drip", play)


def never_ends() -> Fault:
    """A list that opens and goes on with blanks, as fast as the client reads, until it hangs up."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        exchange.send_head(200, (_CONTENT_TYPE, _CHUNKED))
        exchange.send_bytes(_chunk(b"["))
        blanks = _chunk(b" " * 2**16)
        while not exchange.stopping.is_set() and not exchange.client_left():
            exchange.send_bytes(blanks)

    return Fault("never ends", play)


def truncated(at: int, framing: Framing = Framing.CONTENT_LENGTH) -> Fault:
    """The right answer, cut off after `at` bytes of its body by an orderly close.

    Framed by its end alone, such an answer looks complete to most HTTP clients.
    """

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        content = exchange.answer().body
        if framing is Framing.CONTENT_LENGTH:
            exchange.send_head(200, (_CONTENT_TYPE, ("Content-Length", str(len(content)))))
            exchange.send_bytes(content[:at])
        elif framing is Framing.CHUNKED:
            exchange.send_head(200, (_CONTENT_TYPE, _CHUNKED))
            exchange.send_bytes(_chunk(content[:at]) if at else b"")
        else:
            exchange.send_head(200, (_CONTENT_TYPE, _CLOSE))
            exchange.send_bytes(content[:at])

    return Fault(f"truncated at {at}, {framing}", play)


def framed(framing: Framing) -> Fault:
    """The right and whole answer under another framing: no fault, and a client must cope."""

    def play(exchange: Exchange, _plan: FaultPlan) -> None:
        answer = exchange.answer()
        content = answer.body
        if framing is Framing.CHUNKED:
            middle, closes = len(content) // 2, exchange.closes
            exchange.send_head(answer.status, (*answer.headers, _CHUNKED))
            pieces = [_chunk(each) for each in (content[:middle], content[middle:]) if each]
            exchange.send_bytes(b"".join(pieces) + b"0\r\n\r\n")
            # The answer is whole and announced no close: the client may use the connection again.
            exchange.closes = closes
        elif framing is Framing.CLOSE_DELIMITED:
            exchange.send_head(answer.status, (*answer.headers, _CLOSE))
            exchange.send_bytes(content)
        else:
            exchange.send(answer)

    return Fault(f"framed by {framing}", play)


def reset_connection(exchange: Exchange) -> None:
    """End the connection of an exchange at once and rudely."""
    exchange.closes = True
    # Lingering for zero seconds makes close() send RST instead of FIN.
    exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.connection.close()


def _chunk(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)


def _drip(exchange: Exchange, content: bytes | None, pause: float) -> None:
    """Send bytes one by one (for ever the letter x if there is no content) while anybody listens."""
    position = 0
    while content is None or position < len(content):
        if exchange.stopping.wait(pause) or exchange.client_left():
            return
        exchange.send_bytes(b"x" if content is None else content[position : position + 1])
        position += 1
