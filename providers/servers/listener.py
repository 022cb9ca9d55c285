"""The listening socket of a server: its threads, its places, the connections that are open."""

import logging
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from providers.servers.exchange import Application, Exchange, Observer
from providers.servers.limits import ServerLimits

_LOG = logging.getLogger(__name__)
_WAIT_FOR_A_PLACE_SECONDS = 1.0

_Socket = socket.socket | tuple[bytes, socket.socket]


class Interceptor(Protocol):
    """Somebody who may answer in the application's place. Only tests have one."""

    def intercept(self, exchange: Exchange) -> bool:
        """True if the exchange is finished, False if the application should answer."""
        ...


class OpenConnections:
    """The connections of a server: which are in the middle of a request, which wait for the next."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: dict[socket.socket, bool] = {}

    def opened(self, connection: socket.socket) -> None:
        with self._changed:
            self._busy[connection] = False

    def begin(self, connection: socket.socket) -> None:
        with self._changed:
            self._busy[connection] = True

    def end(self, connection: socket.socket) -> None:
        with self._changed:
            self._busy[connection] = False

    def closed(self, connection: socket.socket) -> None:
        with self._changed:
            self._busy.pop(connection, None)
            self._changed.notify_all()

    def close_all(self, seconds: float) -> None:
        """End the waiting ones now, the busy ones when they are done or after so many seconds."""
        end = time.monotonic() + seconds
        self._shut_down(also_busy=False)
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, max(0.0, end - time.monotonic()))
        self._shut_down(also_busy=True)
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, 1.0)

    def _shut_down(self, *, also_busy: bool) -> None:
        with self._changed:
            connections = [each for each, busy in self._busy.items() if also_busy or not busy]
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it closed by itself in the meantime


class Listener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """The listening socket and its threads. Use HttpServer."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        address: tuple[str, int],
        connection: type[socketserver.BaseRequestHandler],
        application: Application,
        limits: ServerLimits,
        tls: ssl.SSLContext | None,
        observers: Sequence[Observer],
        faults: Interceptor | None,
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.application = application
        self.limits = limits
        self.observers = tuple(observers)
        self.faults = faults
        self.stopping = threading.Event()
        self.open_connections = OpenConnections()
        self._tls = tls
        self._places = threading.BoundedSemaphore(limits.connections)
        super().__init__(address, connection)

    def process_request(self, request: _Socket, client_address: object) -> None:
        if not self._places.acquire(timeout=_WAIT_FOR_A_PLACE_SECONDS):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: _Socket, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def finish_request(self, request: _Socket, client_address: object) -> None:
        connection = request[1] if isinstance(request, tuple) else request
        if self._tls is not None:
            # Here and not in the accepting thread: a client that never finishes its handshake blocks nobody.
            connection.settimeout(self.limits.request_seconds)
            try:
                connection = self._tls.wrap_socket(connection, server_side=True)
            except OSError as error:
                _LOG.info("a TLS handshake failed: %s", error)
                return
        self.open_connections.opened(connection)
        try:
            super().finish_request(connection, client_address)
        finally:
            self.open_connections.closed(connection)
            if self._tls is not None:
                # Wrapping took the socket over: the caller would close an empty shell.
                self.shutdown_request(connection)

    def handle_error(self, request: _Socket, client_address: object) -> None:
        _LOG.exception("a request ended in an error that nobody foresaw; its connection was closed")
