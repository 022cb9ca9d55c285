"""A small HTTP server in threads of the tests' process: kept connections, TLS, and a place for faults."""

import http.server
import itertools
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from providers.servers.wsgi_application import Request
from tests.servers.exchange import Exchange, Interceptor, Observer

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_NUMBERS = itertools.count(1)
_STOP_SECONDS = 1.0


class HttpServer:
    """Serves a WSGI application until it is stopped; startable again on the same port after that.

    Port 0 takes a free one; `port` says which. Without `faults` every request goes to the application.
    """

    def __init__(
        self,
        application: "WSGIApplication",
        *,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        observers: Sequence[Observer] = (),
        faults: Interceptor | None = None,
    ) -> None:
        self.port = port
        self.tls = tls
        self.application = application
        self.observers = tuple(observers)
        self.faults = faults
        self._listener: _Listener | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def start(self) -> None:
        if self._listener is not None:
            raise RuntimeError("The server runs already.")
        self._listener = _Listener(self)
        self.port = int(self._listener.server_address[1])
        threading.Thread(target=self._listener.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Take no more connections, let requests under way finish for a while, close all. Idempotent."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.stopping.set()
            listener.shutdown()
            listener.server_close()
            listener.open_connections.close_all()


class _OpenConnections:
    """The connections of a server: which are in the middle of a request, which wait for the next."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: dict[socket.socket, bool] = {}

    def mark(self, connection: socket.socket, *, is_busy: bool) -> None:
        with self._changed:
            self._busy[connection] = is_busy

    def forget(self, connection: socket.socket) -> None:
        with self._changed:
            self._busy.pop(connection, None)
            self._changed.notify_all()

    def close_all(self) -> None:
        """End the waiting ones now, the busy ones when they are done or after a while."""
        self._shut_down(also_busy=False)
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, _STOP_SECONDS)
        self._shut_down(also_busy=True)
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, 1.0)

    def _shut_down(self, *, also_busy: bool) -> None:
        with self._changed:
            connections = [each for each, is_busy in self._busy.items() if also_busy or not is_busy]
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it closed by itself in the meantime


class _Listener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, served: HttpServer) -> None:
        self.served = served
        self.stopping = threading.Event()
        self.open_connections = _OpenConnections()
        super().__init__(("127.0.0.1", served.port), _Connection)

    def finish_request(self, request: socket.socket | tuple[bytes, socket.socket], address: object) -> None:
        assert isinstance(request, socket.socket)
        connection = request
        if self.served.tls is not None:
            try:
                # Here and not in the accepting thread: a client that dawdles over it blocks nobody.
                connection = self.served.tls.wrap_socket(request, server_side=True)
            except OSError:
                return
        self.open_connections.mark(connection, is_busy=False)
        try:
            super().finish_request(connection, address)
        finally:
            self.open_connections.forget(connection)
            self.shutdown_request(connection)


class _Connection(http.server.BaseHTTPRequestHandler):
    """Reads one request after the other and has each answered, whatever its method is."""

    server: _Listener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60

    def handle_one_request(self) -> None:
        self.close_connection = True
        if self.server.stopping.is_set():
            return
        connections = self.server.open_connections
        try:
            self.raw_requestline = self.rfile.readline(2**16)
            connections.mark(self.connection, is_busy=True)
            if self.raw_requestline and self.parse_request():
                self._answer()
        except (TimeoutError, ConnectionError):
            self.close_connection = True  # the client is gone: there is nobody to tell
        finally:
            connections.mark(self.connection, is_busy=False)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the standard library's name
        """Nothing: observers look on instead."""

    def _answer(self) -> None:
        served, number, began = self.server.served, next(_NUMBERS), time.monotonic()
        request = self._read_request()
        exchange = Exchange(
            request, served.application, self.connection, self.server.stopping, closes=self.close_connection
        )
        for observer in served.observers:
            observer.arrived(number, request)
        try:
            if served.faults is None or not served.faults.intercept(exchange):
                exchange.send(exchange.answer())
        finally:
            self.close_connection = exchange.closes
            for observer in served.observers:
                observer.answered(number, exchange.status, time.monotonic() - began)

    def _read_request(self) -> Request:
        headers: dict[str, str] = {}
        for name, value in self.headers.items():
            lowered = name.lower()
            headers[lowered] = f"{headers[lowered]}, {value}" if lowered in headers else value
        length = int(headers.get("content-length", "0"))
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionAbortedError
        path, _, query = self.path.partition("?")
        return Request(self.command, path, headers, body, query)
