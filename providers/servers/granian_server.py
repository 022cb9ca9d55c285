"""Serves a WSGI application with granian, in this process, within bounds."""

import asyncio
import io
import os
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import msgspec
from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces, SSLProtocols
from granian.http import HTTP1Settings
from granian.server.embed import Server

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

_BACKLOG = 128
_PIECE_BYTES = 2**16
_Result = TypeVar("_Result")
_Answer = tuple[int, list[tuple[str, str]], bytes]


class ServerLimits(msgspec.Struct, frozen=True):
    """Bounds of one server. How large a body may be is the application's."""

    connections: int = 256  # further ones wait until one of these is closed
    head_bytes: int = 32 * 2**10  # request line and headers together; above twice as much: 431
    head_seconds: float = 30.0  # from the connection, or the last answer, to the end of a request's head
    body_seconds: float = 30.0  # from there to the end of its body
    answer_seconds: float = 60.0  # how long a client may take nothing of its answer (Linux)
    stop_seconds: float = 5.0  # how long a stopping server waits for requests that are under way


class TlsFiles(msgspec.Struct, frozen=True):
    """A certificate chain and its private key, both PEM."""

    certificate: Path
    key: Path


class GranianServer:
    """Serves an application until it is stopped. Port 0 takes a free one; `port` says which.

    With granian's own WSGI interface a read of the body waits for as long as the client likes, and holds the
    connection. Its RSGI interface lets go of both. So the application is called through that one.
    """

    def __init__(
        self,
        application: "WSGIApplication",
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        limits: ServerLimits | None = None,
        tls: TlsFiles | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self._application = application
        self._limits = limits or ServerLimits()
        self._tls = tls
        self._running: tuple[_BoundServer, threading.Thread, asyncio.AbstractEventLoop] | None = None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    def start(self) -> None:
        """Bind and serve in threads. Raises OSError where the address or the TLS files cannot be used."""
        listener = self._bind()
        self.port = int(listener.getsockname()[1])
        server = self._make_server(listener)
        started: Future[asyncio.AbstractEventLoop] = Future()
        server.on_startup(lambda: started.set_result(asyncio.get_running_loop()))
        thread = threading.Thread(
            target=asyncio.run, args=(server.serve(),), name=f"server-{self.port}", daemon=True
        )
        thread.start()
        self._running = server, thread, started.result()

    def stop(self) -> None:
        """Take no more connections, let requests under way finish for a while. Idempotent."""
        if self._running is None:
            return
        (server, thread, loop), self._running = self._running, None
        loop.call_soon_threadsafe(server.stop)
        thread.join(self._limits.stop_seconds)

    def _bind(self) -> socket.socket:
        is_v6 = ":" in self.host
        family = socket.AF_INET6 if is_v6 else socket.AF_INET
        address = (self.host, self.port)
        listener = socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=is_v6)
        if sys.platform == "linux":
            # Each connection inherits it, and ends when its client takes nothing of an answer for so long.
            milliseconds = int(self._limits.answer_seconds * 1000)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        return listener

    def _make_server(self, listener: socket.socket) -> "_BoundServer":
        return _BoundServer(
            listener,
            self._answer,
            interface=Interfaces.RSGI,
            http=HTTPModes.http1,
            websockets=False,
            backpressure=self._limits.connections,
            http1_settings=HTTP1Settings(
                header_read_timeout=int(self._limits.head_seconds * 1000),
                max_buffer_size=self._limits.head_bytes,
            ),
            log_enabled=False,
            ssl_cert=self._tls.certificate if self._tls else None,
            ssl_key=self._tls.key if self._tls else None,
            ssl_protocol_min=SSLProtocols.tls12,
        )

    async def _answer(self, scope: Any, protocol: Any) -> None:
        body = _Body(protocol, asyncio.get_running_loop(), self._limits.body_seconds)
        environ = _make_environ(scope, io.BufferedReader(body, _PIECE_BYTES))
        protocol.response_bytes(*await _in_thread(_call, self._application, environ))


def end_process(status: int) -> NoReturn:
    """End a process that had a server in it. A thread of granian that wants the interpreter while it is being
    taken down would abort the process."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class _BoundServer(Server):
    """granian on a socket that is bound already: a port that is taken is an error, a free one is known."""

    def __init__(self, listener: socket.socket, target: Callable[..., Any], **settings: Any) -> None:
        super().__init__(target, **settings)
        self._listener = listener

    def _init_shared_socket(self) -> None:
        # granian's own types do not know what its library takes.
        make_holder: Any = SocketHolder
        self._shd: Any = make_holder(self._listener.detach(), uds=False, backlog=_BACKLOG)


class _Body(io.RawIOBase):
    """What comes of a body, until it ends or its time is over (TimeoutError)."""

    def __init__(self, protocol: Any, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._pieces = aiter(protocol)
        self._loop = loop
        self._ends_at = loop.time() + seconds
        self._piece = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed says WriteableBuffer
        if not self._piece:
            self._piece = asyncio.run_coroutine_threadsafe(self._fetch_piece(), self._loop).result()
        size = min(len(buffer), len(self._piece))
        buffer[:size], self._piece = self._piece[:size], self._piece[size:]
        return size

    async def _fetch_piece(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._ends_at):
                return bytes(await self._pieces.__anext__())
        except StopAsyncIteration:
            return b""


async def _in_thread(function: Callable[..., _Result], *arguments: object) -> _Result:
    """As asyncio.to_thread, but a thread that hangs does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_Result] = loop.create_future()

    def run() -> None:
        try:
            result = function(*arguments)
        except Exception as error:  # noqa: BLE001 - raised again by who waits
            loop.call_soon_threadsafe(done.set_exception, error)
        else:
            loop.call_soon_threadsafe(done.set_result, result)

    threading.Thread(target=run, daemon=True).start()
    return await done


def _call(application: "WSGIApplication", environ: "WSGIEnvironment") -> _Answer:
    began: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(
        status: str, headers: list[tuple[str, str]], _error: object = None
    ) -> Callable[[bytes], object]:
        began.append((status, headers))
        return lambda _: None

    body = b"".join(application(environ, start_response))
    status, headers = began[-1]
    return int(status[:3]), headers, body


def _make_environ(scope: Any, body: io.BufferedReader) -> "WSGIEnvironment":
    host, _, port = scope.server.rpartition(":")
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": scope.client.rpartition(":")[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": body,
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name in set(scope.headers.keys()):
        key = name.upper().replace("-", "_")
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        environ[key] = ", ".join(scope.headers.get_all(name))
    return environ
