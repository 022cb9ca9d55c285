"""One request and its answer while the server under test works on it."""

import io
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

import msgspec

from providers.servers.wsgi_application import Answer, Request

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

_LONGEST_HOLD_SECONDS = 120.0
_HOLD_STEP_SECONDS = 0.02
_BODILESS = (204, 304)


class Observer(Protocol):
    """Somebody who looks on."""

    def arrived(self, number: int, request: Request) -> None:
        """A request is there; nothing was done yet."""
        ...

    def answered(self, number: int, status: int, seconds: float) -> None:
        """A request is finished; status 0 means that no answer was sent."""
        ...


class Interceptor(Protocol):
    """Somebody who may answer in the application's place."""

    def intercept(self, exchange: "Exchange") -> bool:
        """True if the exchange is finished, False if the application should answer."""
        ...


class Exchange:
    """One request on one connection while it is being answered, whole or in whatever way a fault wants."""

    def __init__(
        self,
        request: Request,
        application: "WSGIApplication",
        connection: socket.socket,
        stopping: threading.Event,
        *,
        closes: bool,
    ) -> None:
        self.request = request
        self.connection = connection
        self.stopping = stopping
        self.closes = closes
        self.status = 0
        self._application = application

    def answer(self) -> Answer:
        """What the application says to the request. Its effects happen at each call."""
        return call_application(self._application, self.request)

    def answer_to(self, body: bytes) -> Answer:
        """What the application says to the same request with another body."""
        return call_application(self._application, msgspec.structs.replace(self.request, body=body))

    def send(self, answer: Answer) -> None:
        """Send a whole answer; the connection stays usable unless it was to close anyway."""
        headers = list(answer.headers)
        if answer.status not in _BODILESS:
            headers.append(("Content-Length", str(len(answer.body))))
        if self.closes:
            headers.append(("Connection", "close"))
        body = b"" if self.request.method == "HEAD" or answer.status in _BODILESS else answer.body
        self.status = answer.status
        self.connection.sendall(_format_head(answer.status, headers) + body)

    def send_head(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Send a head with just these headers. What follows is the caller's; the connection closes after."""
        self.closes = True
        self.status = status
        self.connection.sendall(_format_head(status, headers))

    def send_bytes(self, data: bytes) -> None:
        """Send raw bytes; the connection closes after."""
        self.closes = True
        self.connection.sendall(data)

    def hold(self) -> None:
        """Say nothing until the client goes away, the server stops, or two minutes have passed."""
        self.closes = True
        end = time.monotonic() + _LONGEST_HOLD_SECONDS
        while time.monotonic() < end and not self.stopping.is_set():
            if self.client_left(_HOLD_STEP_SECONDS):
                return

    def client_left(self, seconds: float = 0.0) -> bool:
        """True if the client closed its side, or sent on (no client here does) within so many seconds."""
        readable, _, _ = select.select([self.connection], [], [], seconds)
        return bool(readable)


def call_application(application: "WSGIApplication", request: Request) -> Answer:
    """The answer of a WSGI application, without the headers that frame it."""
    begun: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(
        status: str, headers: list[tuple[str, str]], _error: object = None
    ) -> Callable[[bytes], object]:
        begun.append((status, headers))
        return begun.append  # type: ignore[return-value]  # nobody writes to it

    body = b"".join(application(_make_environ(request), start_response))
    status, headers = begun[0]
    kept = tuple(each for each in headers if each[0] not in ("Content-Length", "Server"))
    return Answer(int(status[:3]), kept, body)


def _make_environ(request: Request) -> "WSGIEnvironment":
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "0",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in request.headers.items():
        key = name.upper().replace("-", "_")
        environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
    return environ | {"CONTENT_LENGTH": str(len(request.body))}


def _format_head(status: int, headers: Sequence[tuple[str, str]]) -> bytes:
    """The head of an answer up to and including its empty line."""
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Server: dnsadmin",
        f"Date: {formatdate(usegmt=True)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
