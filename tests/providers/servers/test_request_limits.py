"""No client takes more of a server than its limits."""

import socket
import time

import pytest
import requests

from providers.servers.limits import ServerLimits
from providers.wire.change_set import ChangeSet
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
from tests.reference_server import ReferenceProvider, make_record

_POST = f"POST /records HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\n"


def test_a_body_over_the_limit_is_413_and_changes_nothing() -> None:
    with ReferenceProvider(limits=ServerLimits(body_bytes=1000)) as provider:
        answer = post_body(provider.url, b'{"create":[' + b" " * 5_000_000 + b"]}")

        assert answer.status_code == 413
        assert provider.endpoints() == ()


def test_a_chunked_body_over_the_limit_is_413() -> None:
    with ReferenceProvider(limits=ServerLimits(body_bytes=1000)) as provider:
        answer = requests.post(
            f"{provider.url}/records", data=iter([b" " * 800, b" " * 800]), headers=CONTENT, timeout=5
        )

    assert answer.status_code == 413


def test_more_endpoints_than_allowed_are_413() -> None:
    records = tuple(make_record(f"app-{number}.example.org") for number in range(4))
    with ReferenceProvider(limits=ServerLimits(items=3)) as provider:
        assert post_changes(provider.url, ChangeSet(create=records)).status_code == 413
        assert post_changes(provider.url, ChangeSet(create=records[:3])).status_code == 204


def test_a_chunked_body_is_read() -> None:
    body = (
        b'{"create":[{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.1"],"recordTTL":300}]}'
    )
    with ReferenceProvider() as provider:
        answer = requests.post(
            f"{provider.url}/records", data=iter([body[:40], body[40:]]), headers=CONTENT, timeout=5
        )

        assert answer.status_code == 204
        assert provider.endpoints() == (make_record(),)


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
def test_a_request_whose_length_is_unclear_or_whose_head_is_huge_is_refused(rest: str, status: int) -> None:
    with ReferenceProvider([make_record()]) as provider:
        received = exchange_bytes(provider.port, (_POST + "Connection: close\r\n" + rest).encode())

        assert received.startswith(f"HTTP/1.1 {status} ".encode())
        assert provider.endpoints() == (make_record(),)


@pytest.mark.parametrize("line", [b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00\x01\x02\r\n\r\n"])
def test_nonsense_is_refused_in_plain_text(line: bytes) -> None:
    with ReferenceProvider() as provider:
        received = exchange_bytes(provider.port, line)

    assert received.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 505 "))
    assert b"text/plain" in received


@pytest.mark.parametrize(
    "sent", [b"", b"GET /rec", _POST.encode() + b"Content-Length: 100\r\n\r\n{", b"GET / HTTP/1.1\r\nX: "]
)
def test_a_client_that_stops_talking_is_left_after_the_deadline(sent: bytes) -> None:
    limits = ServerLimits(idle_seconds=0.2, request_seconds=0.2, stop_seconds=1.0)
    with ReferenceProvider(limits=limits) as provider:
        began = time.monotonic()

        received = exchange_bytes(provider.port, sent)

        assert received == b""
        assert time.monotonic() - began < 3.0


def test_a_client_that_drips_is_left_after_the_deadline() -> None:
    limits = ServerLimits(request_seconds=0.3, stop_seconds=1.0)
    with (
        ReferenceProvider(limits=limits) as provider,
        socket.create_connection(("127.0.0.1", provider.port), timeout=0.02) as connection,
    ):
        began = time.monotonic()
        left = False
        connection.sendall(b"GET /records HTTP/1.1\r\nX: ")
        while not left and time.monotonic() - began < 5.0:
            try:
                connection.sendall(b"x")
                left = connection.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                left = True

        assert left
        assert time.monotonic() - began < 3.0


def test_a_client_that_leaves_half_way_changes_nothing() -> None:
    with ReferenceProvider([make_record()]) as provider:
        with socket.create_connection(("127.0.0.1", provider.port), timeout=5) as connection:
            connection.sendall(_POST.encode() + b'Content-Length: 200\r\n\r\n{"delete":[')

        assert fetch_endpoints(provider.url) == [make_record()]


def test_connections_beyond_the_limit_are_closed_and_the_server_lives_on() -> None:
    with ReferenceProvider([make_record()], limits=ServerLimits(connections=2, stop_seconds=1.0)) as provider:
        kept = [socket.create_connection(("127.0.0.1", provider.port), timeout=5) for _ in range(2)]

        with socket.create_connection(("127.0.0.1", provider.port), timeout=5) as surplus:
            assert read_to_end(surplus) == b""
        for each in kept:
            each.close()

        assert exchange_bytes(provider.port, raw_get()).startswith(b"HTTP/1.1 200 ")


def test_stopping_ends_idle_connections_at_once() -> None:
    provider = ReferenceProvider()
    provider.start()
    idle = socket.create_connection(("127.0.0.1", provider.port), timeout=5)
    idle.sendall(raw_get().replace(b"Connection: close\r\n", b""))
    assert idle.recv(65536).startswith(b"HTTP/1.1 200 ")
    began = time.monotonic()

    provider.stop()

    assert time.monotonic() - began < 1.0
    assert read_to_end(idle) == b""
    idle.close()
