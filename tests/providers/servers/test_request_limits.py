"""No client takes more of a server than its limits."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from providers.backends.memory import MemoryBackend
from providers.servers.granian_server import ServerLimits
from providers.servers.provider_application import WebhookApplication
from providers.servers.wsgi_application import MOST_BODY_BYTES
from providers.wire.change_set import ChangeSet
from providers.wire.json_codec import encode_endpoints
from tests.providers.servers.calls import (
    CONTENT,
    MEDIA_TYPE,
    exchange_bytes,
    fetch_endpoints,
    post_body,
    post_changes,
    raw_get,
    read_to_end,
)
from tests.providers.servers.serving import serve
from tests.reference_server import make_record

pytestmark = pytest.mark.deep

_POST = f"POST /records HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\n"
_HASTY = ServerLimits(head_seconds=0.3, body_seconds=0.3, stop_seconds=1.0)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of `python -m providers.servers`; it holds one record."""
    seed = tmp_path_factory.mktemp("limits") / "seed.json"
    seed.write_bytes(encode_endpoints([make_record()]))
    command = [sys.executable, "-m", "providers.servers", "memory", "--seed", str(seed), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["port"]
        process.kill()


@pytest.fixture
def url(port: int) -> Iterator[str]:
    """Its address. Whatever a test sends, the one record stays, and the server answers."""
    address = f"http://127.0.0.1:{port}"
    yield address
    assert fetch_endpoints(address) == [make_record()]


def test_a_body_over_the_limit_is_413_and_changes_nothing(url: str) -> None:
    answer = post_body(url, b'{"create":[' + b" " * MOST_BODY_BYTES + b"]}")

    assert answer.status_code == 413
    assert "Nothing was applied." in answer.text


def test_a_chunked_body_over_the_limit_is_413(url: str) -> None:
    piece = b" " * 2**20
    pieces = (piece for _ in range(MOST_BODY_BYTES // len(piece) + 2))

    answer = requests.post(f"{url}/records", data=pieces, headers=CONTENT, timeout=20)

    assert answer.status_code == 413


def test_a_body_can_be_given_another_limit() -> None:
    with serve(WebhookApplication(MemoryBackend(), most_body_bytes=1000)) as server:
        whole = post_body(server.url, b" " * 1001)
        chunked = requests.post(
            f"{server.url}/records", data=iter([b" " * 800, b" " * 800]), headers=CONTENT, timeout=5
        )
        fit = post_body(server.url, b"{" + b" " * 998 + b"}")

    assert [whole.status_code, chunked.status_code, fit.status_code] == [413, 413, 204]


def test_more_endpoints_than_allowed_are_413() -> None:
    records = tuple(make_record(f"app-{number}.example.org") for number in range(4))
    with serve(WebhookApplication(MemoryBackend(), most_items=3)) as server:
        assert post_changes(server.url, ChangeSet(create=records)).status_code == 413
        assert post_changes(server.url, ChangeSet(create=records[:3])).status_code == 204


def test_a_chunked_body_is_read() -> None:
    body = (
        b'{"create":[{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.1"],"recordTTL":300}]}'
    )
    backend = MemoryBackend()
    with serve(WebhookApplication(backend)) as server:
        answer = requests.post(
            f"{server.url}/records", data=iter([body[:40], body[40:]]), headers=CONTENT, timeout=5
        )

    assert answer.status_code == 204
    assert tuple(backend.contents()) == (make_record(),)


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        ("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400),
        ("Content-Length: -2\r\n\r\n{}", 400),
        ("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        ("Content-Length: 1e3\r\n\r\n{}", 400),
        ("Transfer-Encoding: gzip\r\n\r\n{}", 400),
        ("Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n", 400),
        ("Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", 415),
        ("\r\n", 400),
        ("X-Long: " + "x" * 70_000 + "\r\n\r\n", 431),
        ("X: 1\r\n" * 200 + "\r\n", 431),
    ],
    ids=lambda value: str(value)[:40],
)
@pytest.mark.usefixtures("url")
def test_a_request_whose_length_is_unclear_or_whose_head_is_huge_is_refused(
    port: int, rest: str, status: int
) -> None:
    received = exchange_bytes(port, (_POST + "Connection: close\r\n" + rest).encode())

    assert received.startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize("line", [b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00\x01\x02\r\n\r\n"])
@pytest.mark.usefixtures("url")
def test_nonsense_is_refused(port: int, line: bytes) -> None:
    assert exchange_bytes(port, line).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("sent", [b"", b"GET /rec", b"GET / HTTP/1.1\r\nX: "])
def test_a_client_that_stops_talking_is_left_after_the_deadline(sent: bytes) -> None:
    with serve(WebhookApplication(MemoryBackend()), limits=_HASTY) as server:
        began = time.monotonic()

        received = exchange_bytes(server.port, sent)

        assert received == b""
        assert time.monotonic() - began < 15.0


@pytest.mark.parametrize(
    "half", ["Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"]
)
def test_a_body_that_does_not_come_is_answered_and_left_after_the_deadline(half: str) -> None:
    with serve(WebhookApplication(MemoryBackend()), limits=_HASTY) as server:
        began = time.monotonic()

        received = exchange_bytes(server.port, (_POST + half).encode())

        # Not 4xx, on which an ExternalDNS would end.
        assert received.startswith(b"HTTP/1.1 503 ")
        assert b"Nothing was applied." in received
        assert time.monotonic() - began < 15.0


@pytest.mark.parametrize("begin", ["GET /records HTTP/1.1\r\nX: ", _POST + "Content-Length: 1000000\r\n\r\n"])
def test_a_client_that_drips_is_left_after_the_deadline(begin: str) -> None:
    with (
        serve(WebhookApplication(MemoryBackend()), limits=_HASTY) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=0.02) as connection,
    ):
        began = time.monotonic()
        connection.sendall(begin.encode())
        while _takes_a_byte(connection) and time.monotonic() - began < 5.0:
            pass

        assert time.monotonic() - began < 15.0


def _takes_a_byte(connection: socket.socket) -> bool:
    """Whether the server still wants more: it has neither closed nor answered with an error."""
    try:
        connection.sendall(b"x")
        return connection.recv(1) not in (b"", b"H")
    except TimeoutError:
        return True
    except ConnectionError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="the bound is the kernel's of Linux")
def test_a_client_that_takes_nothing_of_its_answer_is_left() -> None:
    zone = [make_record(f"app-{number}.example.org") for number in range(60_000)]
    limits = ServerLimits(answer_seconds=1.0, connections=1, stop_seconds=1.0)
    with serve(WebhookApplication(MemoryBackend(zone)), limits=limits) as server, socket.socket() as greedy:
        greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        greedy.connect(("127.0.0.1", server.port))
        greedy.sendall(raw_get())

        # The one place is free again only when the first is left.
        received = exchange_bytes(server.port, raw_get("/"), seconds=20)

    assert received.startswith(b"HTTP/1.1 200 ")


@pytest.mark.usefixtures("url")
@pytest.mark.parametrize(
    "framing", ["Content-Length: 200\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n40\r\n"]
)
def test_a_client_that_leaves_half_way_changes_nothing(port: int, framing: str) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall((_POST + framing + '{"delete":[').encode())


def test_connections_beyond_the_limit_wait_for_a_free_place() -> None:
    limits = ServerLimits(connections=2, stop_seconds=1.0)
    with serve(WebhookApplication(MemoryBackend()), limits=limits) as server:
        kept = [socket.create_connection(("127.0.0.1", server.port), timeout=5) for _ in range(2)]
        with socket.create_connection(("127.0.0.1", server.port), timeout=0.3) as surplus:
            surplus.sendall(raw_get())
            with pytest.raises(TimeoutError):
                surplus.recv(1)

            kept[0].close()

            surplus.settimeout(5)
            assert read_to_end(surplus).startswith(b"HTTP/1.1 200 ")
        kept[1].close()


def test_stopping_ends_idle_connections_at_once() -> None:
    with serve(WebhookApplication(MemoryBackend())) as server:
        idle = socket.create_connection(("127.0.0.1", server.port), timeout=5)
        idle.sendall(raw_get().replace(b"Connection: close\r\n", b""))
        assert idle.recv(65536).startswith(b"HTTP/1.1 200 ")
        began = time.monotonic()

        server.stop()

        assert time.monotonic() - began < 1.0
        assert read_to_end(idle) == b""
        idle.close()
