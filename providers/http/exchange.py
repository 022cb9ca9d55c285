"""One request and its answer, watched: a total deadline and a byte count on every read and write.

The timeouts of the usual clients are per read, so a slow drip lasts for ever. Here each read gets
what is left of the whole; `makefile`, http.client and urllib3 sit on top and need not know.
"""

import socket
import ssl
import time
from typing import TYPE_CHECKING

from providers.http.errors import (
    AnswerTooLarge,
    AnswerTruncated,
    ConnectionRefused,
    DeadlineExceeded,
    MalformedAnswer,
    NothingCameInTime,
    ProviderError,
    TlsFailed,
    Unreachable,
)

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_HTTP = b"HTTP/"


class Exchange:
    """What is known of one request on its way. Belongs to one thread; never used twice."""

    def __init__(
        self, origin: str, *, seconds: float, max_head_bytes: int, peer: str = "webhook provider"
    ) -> None:
        self.origin = origin
        self.started_at = time.monotonic()
        self.began_sending = False
        self.peer_closed = False
        self._peer = peer
        self._seconds = seconds
        self._ends_at = self.started_at + seconds
        self._may_receive = max_head_bytes
        self._first_bytes = b""

    @property
    def elapsed(self) -> float:
        """Seconds since the exchange began."""
        return time.monotonic() - self.started_at

    def remaining(self) -> float:
        """Return the seconds left; raises the error that says why waiting ends when there are none."""
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise self.too_late()
        return left

    def allow_body(self, byte_count: int) -> None:
        """Let that many more bytes come, now that the head is read."""
        self._may_receive += byte_count

    def shorten(self, seconds: float) -> None:
        """Wait no longer than `seconds` from now."""
        self._ends_at = min(self._ends_at, time.monotonic() + seconds)
        self._seconds = self._ends_at - self.started_at

    def note_received(self, data: memoryview) -> None:
        """Count what came; raises AnswerTooLarge beyond what may come."""
        if not data:
            self.peer_closed = True
        if len(self._first_bytes) < len(_HTTP):
            self._first_bytes += bytes(data[: len(_HTTP)])
        self._may_receive -= len(data)
        if self._may_receive < 0:
            raise self.too_large()

    def too_late(self) -> ProviderError:
        """The error for a deadline that came."""
        if not self._first_bytes.startswith(_HTTP):
            return self.nothing_in_time()
        return DeadlineExceeded(
            f"The response of {self.origin} was not complete after {self._seconds:.3g} s. It was not used.",
            hint="The provider is slow or does not respond: look at its log, or raise its deadline.",
        )

    def too_large(self) -> AnswerTooLarge:
        """The error for an answer beyond its limit."""
        return AnswerTooLarge(
            f"The response of {self.origin} is larger than allowed. It was not used.",
            hint="Raise the size limit of this provider if it really has that many records.",
        )

    def nothing_in_time(self) -> NothingCameInTime:
        """The error when the deadline came before an answer. Only said once all of the time has passed."""
        return NothingCameInTime(
            f"No {self._peer} responded at {self.origin} within {self._seconds:.3g} s.",
            hint="Check that no firewall drops the packets and that TLS is used on both sides or on none. "
            "If it is only slow, raise its deadline.",
        )

    def refused(self) -> ConnectionRefused:
        """The error for a port at which nothing listens."""
        return ConnectionRefused(
            f"No {self._peer} responded at {self.origin}: the connection was refused.",
            hint="Check the port, and that the server runs and listens at this address, not only at its "
            "own loopback address.",
        )

    def not_connected(self) -> Unreachable:
        """The error when no connection could be made for another reason."""
        return Unreachable(
            f"No {self._peer} responded at {self.origin}: no connection could be made.",
            hint="Check the address, and that there is a route to it from this machine.",
        )

    def no_http(self) -> Unreachable:
        """The error for a connection that was made, and ended without an HTTP answer."""
        return Unreachable(
            f"No {self._peer} responded at {self.origin}: the connection was made, but no HTTP "
            "response came.",
            hint="Check that this is its port, that TLS is used on both sides or on none, and its log.",
        )

    def broken(self, *, cut: bool = False) -> ProviderError:
        """The error for an answer that did not end well: cut off, or not HTTP as it should be."""
        if not self._first_bytes.startswith(_HTTP):
            return self.no_http()
        if cut or self.peer_closed:
            return AnswerTruncated(
                f"The connection to {self.origin} ended before the response was complete. The "
                "response was not used.",
                hint="Look at the provider's log, and at any proxy in between. The next sync reads again.",
            )
        return MalformedAnswer(
            f"The response of {self.origin} is not well-formed HTTP. It was not used.",
            hint="Check what listens there, and any proxy in between.",
        )

    def tls_failed(self, error: ssl.SSLError) -> ProviderError:
        """The error for a TLS connection that failed."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return TlsFailed(
                f"The certificate of {self.origin} was not accepted: {error.verify_message.rstrip('.')}.",
                hint="Renew the certificate or correct its name; if your own authority signed it, "
                "give that authority's certificate as the provider's CA.",
            )
        if "ALERT" in (error.reason or ""):
            return TlsFailed(
                f"{self.origin} ended the TLS connection: it did not accept the client's TLS settings.",
                hint="Check the client certificate this provider expects.",
            )
        return self.broken(cut=True)


class _Watched(socket.socket):
    """A socket that asks its exchange before it waits; nothing is watched before `exchange` is set (during a
    TLS handshake)."""

    exchange: Exchange | None = None

    def recv_into(self, buffer: "WriteableBuffer", nbytes: int | None = None, flags: int = 0) -> int:
        exchange = self.exchange
        size = nbytes or memoryview(buffer).nbytes
        if exchange is None:
            return super().recv_into(buffer, size, flags)
        self.settimeout(exchange.remaining())
        try:
            count = super().recv_into(buffer, size, flags)
        except TimeoutError:
            raise exchange.too_late() from None
        except ssl.SSLError as exc:
            raise exchange.tls_failed(exc) from exc
        except OSError as exc:
            raise exchange.broken(cut=True) from exc
        exchange.note_received(memoryview(buffer)[:count])
        return count


class WatchedSocket(_Watched):
    """A plain socket that is watched."""

    def sendall(self, data: "ReadableBuffer", flags: int = 0) -> None:
        exchange = self.exchange
        if exchange is None:
            return super().sendall(data, flags)
        self.settimeout(exchange.remaining())  # sendall counts it down by itself, for all of the data
        exchange.began_sending = True
        try:
            return super().sendall(data, flags)
        except TimeoutError:
            raise exchange.too_late() from None


class WatchedTlsSocket(_Watched, ssl.SSLSocket):
    """A TLS socket that is watched."""

    suppress_ragged_eofs: bool  # ssl.SSLSocket has it; the type stubs do not

    def send(self, data: "ReadableBuffer", flags: int = 0) -> int:
        # SSLSocket.sendall comes here for each piece; the handshake does not.
        exchange = self.exchange
        if exchange is None:
            return super().send(data, flags)
        self.settimeout(exchange.remaining())
        exchange.began_sending = True
        try:
            return super().send(data, flags)
        except TimeoutError:
            raise exchange.too_late() from None
        except ssl.SSLError as exc:
            raise exchange.tls_failed(exc) from exc
