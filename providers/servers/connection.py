"""One connection: requests read within bounds, answers written, kept alive in between."""

import http.server
import io
import itertools
import logging
import socket
import time

import msgspec

from providers.servers.exchange import Answer, Exchange, Request, plain_answer
from providers.servers.listener import Listener
from providers.servers.refusal_log import log_refused_request

_LOG = logging.getLogger(__name__)
_NUMBERS = itertools.count(1)
_LONGEST_LINE = 4096
_REFUSED = 400
# After an answer that leaves a body unread: what is still read so that the client gets to see the answer.
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 64 * 2**20


class Unreadable(Exception):
    """A request that is not read to its end, with the status that says so."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class BoundedReader(io.RawIOBase):
    """A socket that is read only until a deadline and up to a number of bytes.

    A timeout of the socket alone counts from read to read: a drip of single bytes would last for ever.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._deadline = 0.0
        self._allowance = 0

    def allow(self, seconds: float, size: int) -> None:
        """From now on: at most this long, and this many bytes."""
        self._deadline = time.monotonic() + seconds
        self._allowance = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed says WriteableBuffer
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        if self._allowance <= 0:
            raise Unreadable(431, "The request line and headers are too long.")
        self._connection.settimeout(seconds)
        size = self._connection.recv_into(buffer)
        self._allowance -= size
        return size


class Connection(http.server.BaseHTTPRequestHandler):
    """Reads one request after the other and has each answered.

    The standard library's part is the head of a request: `parse_request`. Methods are not dispatched to
    `do_GET` and the like: the application sees them all, and says itself which it does not know.
    """

    server: Listener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._reader = BoundedReader(self.connection)
        self._input = io.BufferedReader(self._reader)
        self.rfile = self._input

    def handle(self) -> None:
        self.close_connection = False
        try:
            while not self.close_connection and not self.server.stopping.is_set():
                self.handle_one_request()
        except (TimeoutError, ConnectionError):
            # The client is gone or dawdles: there is nobody to tell.
            self.close_connection = True

    def handle_one_request(self) -> None:
        limits = self.server.limits
        self.close_connection = True
        self._reader.allow(limits.idle_seconds, limits.head_bytes)
        if not self._input.peek(1):
            return
        self.server.open_connections.begin(self.connection)
        try:
            self._reader.allow(limits.request_seconds, limits.head_bytes)
            try:
                request = self._read_head()
            except Unreadable as problem:
                self.send_error(problem.status, str(problem))
                self._linger()
                return
            if request is not None:
                self._answer(request)
        finally:
            self.server.open_connections.end(self.connection)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library says of a head it cannot read, in plain text instead of HTML."""
        self.close_connection = True
        self.connection.settimeout(self.server.limits.answer_seconds)
        request = Request(0, "GET", "", {})
        text = message or explain or "The request cannot be read."
        exchange = Exchange(
            request, self.server.application, self.connection, self.server.stopping, closes=True
        )
        log_refused_request("a request", "that cannot be read", int(code), text.encode("utf-8", "replace"))
        exchange.send(plain_answer(int(code), text))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the standard library's name
        """Nothing: observers look on instead."""

    def _read_head(self) -> Request | None:
        line = self.rfile.readline(self.server.limits.head_bytes + 1)
        if len(line) > self.server.limits.head_bytes:
            raise Unreadable(414, "The request line is too long.")
        self.raw_requestline = line
        if not line.strip() or not self.parse_request():
            self.close_connection = True
            return None
        headers: dict[str, str] = {}
        for name, value in self.headers.items():
            lowered = name.lower()
            headers[lowered] = f"{headers[lowered]}, {value}" if lowered in headers else value
        path, _, query = self.path.partition("?")
        return Request(next(_NUMBERS), self.command, path, headers, query=query)

    def _answer(self, head: Request) -> None:
        began = time.monotonic()
        exchange = Exchange(
            head, self.server.application, self.connection, self.server.stopping, closes=self.close_connection
        )
        unread = False
        try:
            exchange.request = msgspec.structs.replace(head, body=self._read_body(head))
        except Unreadable as problem:
            unread = exchange.closes = True
            refusal = plain_answer(problem.status, str(problem))
            log_refused_request(head.method, head.path, refusal.status, refusal.body)
        for observer in self.server.observers:
            observer.arrived(exchange.request)
        try:
            self.connection.settimeout(self.server.limits.answer_seconds)
            if unread:
                exchange.send(refusal)
            elif self.server.faults is None or not self.server.faults.intercept(exchange):
                exchange.send(_answer_in_any_case(exchange))
        finally:
            self.close_connection = exchange.closes
            for observer in self.server.observers:
                observer.answered(exchange.request, exchange.status, time.monotonic() - began)
        if unread:
            self._linger()

    def _read_body(self, head: Request) -> bytes:
        limit = self.server.limits.body_bytes
        # Framing of chunks and what is already buffered come on top of the body itself.
        self._reader.allow(self.server.limits.request_seconds, 2 * limit + _LONGEST_LINE)
        length = head.headers.get("content-length")
        coding = head.headers.get("transfer-encoding")
        if head.headers.get("content-encoding", "identity").lower() != "identity":
            raise Unreadable(415, "Compressed bodies are not accepted; send the body as it is.")
        if coding is not None:
            if length is not None or coding.lower() != "chunked":
                raise Unreadable(400, "The length of the body is not clear from its headers.")
            return self._read_chunks(limit)
        if length is None:
            return b""
        if not (length.isascii() and length.isdigit() and len(length) < 20):
            raise Unreadable(400, "Content-Length is not a number.")
        if int(length) > limit:
            raise Unreadable(413, f"The body is larger than {limit} bytes. Nothing was applied.")
        return self._read_exactly(int(length))

    def _read_chunks(self, limit: int) -> bytes:
        body = bytearray()
        while size := self._read_chunk_size():
            if len(body) + size > limit:
                raise Unreadable(413, f"The body is larger than {limit} bytes. Nothing was applied.")
            body += self._read_exactly(size)
            if self._read_exactly(2) != b"\r\n":
                raise Unreadable(400, "A chunk of the body is longer than it says.")
        while self.rfile.readline(_LONGEST_LINE).strip():
            pass  # trailers mean nothing here; the reader's allowance ends them
        return bytes(body)

    def _read_chunk_size(self) -> int:
        text = self.rfile.readline(_LONGEST_LINE).partition(b";")[0].strip()
        if not text or len(text) > 8 or text.strip(b"0123456789abcdefABCDEF"):
            raise Unreadable(400, "The size of a chunk of the body is not a number.")
        return int(text, 16)

    def _read_exactly(self, size: int) -> bytes:
        data = self.rfile.read(size)
        if data is None or len(data) < size:
            # The client left half-way: nothing of it is applied, and nobody listens.
            raise ConnectionAbortedError
        return data

    def _linger(self) -> None:
        """Read on for a moment: closing with unread bytes makes the peer lose the answer just sent."""
        self._reader.allow(_LINGER_SECONDS, _LINGER_BYTES)
        try:
            self.connection.shutdown(socket.SHUT_WR)
            while self.rfile.read1(2**16):
                pass
        except (OSError, Unreadable):
            return


def _answer_in_any_case(exchange: Exchange) -> Answer:
    """The application's answer, a refusal told to the log. An error that nobody foresaw is answered with 500:
    a connection that ends without an answer would end the client's process."""
    request = exchange.request
    try:
        answer = exchange.answer()
    except Exception:  # noqa: BLE001 - told to the log in full, and to the client
        _LOG.exception("an error that nobody foresaw while answering a request")
        answer = plain_answer(500, "The server failed inside. Read the records again; its log says more.")
    if answer.status >= _REFUSED:
        log_refused_request(request.method, request.path, answer.status, answer.body)
    return answer
