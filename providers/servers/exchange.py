"""One request and its answer: the values between a connection and an application."""

import select
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from http import HTTPStatus
from typing import Protocol

import msgspec

_LONGEST_HOLD_SECONDS = 120.0
_HOLD_STEP_SECONDS = 0.02
_BODILESS = (204, 304)


class Request(msgspec.Struct, frozen=True):
    """A request, read to its end. Header names are lower case; a repeated header is joined by commas."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""
    query: str = ""  # as it came, without its question mark


class Answer(msgspec.Struct, frozen=True):
    """A whole answer; framing, date and connection headers are added when it is sent."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Application(Protocol):
    """What a server serves."""

    def answer(self, request: Request) -> Answer:
        """The answer to a request, its effects done. Called from many threads at once."""
        ...


class Observer(Protocol):
    """Somebody who looks on: metrics, a history."""

    def arrived(self, request: Request) -> None:
        """A request is there; nothing was done yet."""
        ...

    def answered(self, request: Request, status: int, seconds: float) -> None:
        """A request is finished; status 0 means that no answer was sent."""
        ...


class Exchange:
    """One request on one connection while it is being answered, whole or in whatever way a fault wants."""

    def __init__(
        self,
        request: Request,
        application: Application,
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
        return self._application.answer(self.request)

    def answer_to(self, body: bytes) -> Answer:
        """What the application says to the same request with another body."""
        return self._application.answer(msgspec.structs.replace(self.request, body=body))

    def send(self, answer: Answer) -> None:
        """Send a whole answer; the connection stays usable unless it was to close anyway."""
        headers = list(answer.headers)
        if answer.status not in _BODILESS:
            headers.append(("Content-Length", str(len(answer.body))))
        if self.closes:
            headers.append(("Connection", "close"))
        body = b"" if self.request.method == "HEAD" or answer.status in _BODILESS else answer.body
        self.status = answer.status
        self.connection.sendall(format_head(answer.status, headers) + body)

    def send_head(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Send a head with just these headers. What follows is the caller's; the connection closes after."""
        self.closes = True
        self.status = status
        self.connection.sendall(format_head(status, headers))

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


def format_head(status: int, headers: Sequence[tuple[str, str]]) -> bytes:
    """The head of an answer up to and including its empty line."""
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Server: dnsadmin",
        f"Date: {formatdate(usegmt=True)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def plain_answer(status: int, text: str, *headers: tuple[str, str]) -> Answer:
    """A short answer for a person who reads a log."""
    return Answer(
        status,
        (("Content-Type", "text/plain; charset=utf-8"), *headers),
        f"{text[:2000]}\n".encode("utf-8", "replace"),
    )
