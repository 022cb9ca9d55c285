"""A server that writes the bytes it is told to, when it is told to, and keeps what it was asked."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# Gets the connection, and an event that is set when the test is over: what a server waits on.
Play = Callable[[socket.socket, threading.Event], None]


def answer(
    body: bytes = b"", *headers: str, status: str = "200 OK", content_type: str | None = None
) -> bytes:
    """A plain answer with a Content-Length, unless the headers frame it otherwise."""
    lines = [f"HTTP/1.1 {status}", *headers]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    if not any(h.lower().startswith(("content-length", "transfer-encoding")) for h in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunked(body: bytes, size: int = 7) -> bytes:
    """The body in chunks of `size` bytes, closed as it should be."""
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def reset(sock: socket.socket, stopping: threading.Event) -> None:
    """Close with RST instead of FIN."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def stay_silent(sock: socket.socket, stopping: threading.Event) -> None:
    """Keep the connection open and say nothing."""
    stopping.wait(10)


def drip(data: bytes, *, after: bytes = b"") -> Play:
    """Say `after` at once, then one byte of `data` every 20 ms."""

    def play(sock: socket.socket, stopping: threading.Event) -> None:
        sock.sendall(after)
        for byte in data:
            if stopping.wait(0.02):
                return
            sock.sendall(bytes([byte]))

    return play


def never_end(data: bytes, *, after: bytes = b"") -> Play:
    """Say `after`, then `data` again and again, as fast as it is taken."""

    def play(sock: socket.socket, stopping: threading.Event) -> None:
        sock.sendall(after)
        while not stopping.is_set():
            sock.sendall(data)

    return play


@dataclass
class RawServer:
    """What a running server shares with its test."""

    port: int
    stopping: threading.Event = field(default_factory=threading.Event)
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def _read_request(sock: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65536)
        if not piece:
            return data
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    while len(body) < length:
        piece = sock.recv(65536)
        if not piece:
            break
        body += piece
    return head + b"\r\n\r\n" + body


@contextmanager
def raw_server(
    play: Play | bytes,
    *,
    tls: ssl.SSLContext | None = None,
    read_request: bool = True,
    host: str = "127.0.0.1",
) -> Iterator[RawServer]:
    """Serve each connection: read one request, then play. Stops, with all its threads, at the end."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, 0), family=family)
    server = RawServer(listener.getsockname()[1])
    threads: list[threading.Thread] = []

    def serve(sock: socket.socket) -> None:
        # A client that leaves early, or dislikes our certificate, is what these tests are about.
        with contextlib.suppress(OSError):
            sock.settimeout(10)
            if tls is not None:
                sock = tls.wrap_socket(sock, server_side=True)
            with sock:
                if read_request:
                    server.requests.append(_read_request(sock))
                if isinstance(play, bytes):
                    sock.sendall(play)
                else:
                    play(sock, server.stopping)
        sock.close()

    def accept() -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            server.connections += 1
            thread = threading.Thread(target=serve, args=(sock,))
            threads.append(thread)
            thread.start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield server
    finally:
        server.stopping.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join()
        for thread in threads:
            thread.join()
