"""Answers that break off, drip or never come: seen from a raw socket."""

import http.client
import json
import socket
import time
from contextlib import closing

import pytest

from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE
from tests.faults import framing_faults
from tests.faults.fault import Fault
from tests.faults.framing_faults import Framing
from tests.providers.servers.calls import (
    exchange_bytes,
    fetch_endpoints,
    head_and_body,
    is_json,
    raw_get,
)
from tests.reference_server import ReferenceProvider, make_record

ZONE = [make_record("one.example.org"), make_record("two.example.org")]


def test_a_reset_is_a_reset() -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", framing_faults.reset())

        with pytest.raises(ConnectionResetError):
            exchange_bytes(provider.port, raw_get())


def test_closed_ends_in_good_order_with_nothing_said() -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", framing_faults.closed())

        assert exchange_bytes(provider.port, raw_get()) == b""


def test_headers_only_promises_a_body_that_does_not_come() -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", framing_faults.headers_only())

        received, ended = _received_within(provider.port, seconds=0.3)

    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert received.endswith(b"Content-Length: 1000000\r\n\r\n")
    assert not ended


def test_silence_says_nothing_and_keeps_the_connection() -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", framing_faults.silence())

        assert _received_within(provider.port, seconds=0.3) == (b"", False)


def test_a_silent_server_notices_that_its_client_left() -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", framing_faults.silence())
        _received_within(provider.port, seconds=0.05)

        (past,) = provider.history.wait_for("GET /records", 1)

    assert past.status == 0


@pytest.mark.parametrize(
    ("fault", "head_ends"),
    [(framing_faults.slow_drip(pause=0.01), True), (framing_faults.slow_headers(pause=0.01), False)],
)
def test_a_drip_goes_on_byte_by_byte(fault: Fault, head_ends: bool) -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", fault)

        received, ended = _received_within(provider.port, seconds=0.5)

    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert (b"\r\n\r\n" in received) is head_ends
    assert not ended


def test_a_drip_ends_when_the_body_is_there() -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", framing_faults.slow_drip(pause=0.0))

        assert fetch_endpoints(provider.url) == ZONE


def test_never_ends_sends_more_than_anybody_wants() -> None:
    with (
        ReferenceProvider(ZONE) as provider,
        socket.create_connection(("127.0.0.1", provider.port), timeout=5) as connection,
    ):
        provider.faults.plan("GET /records", framing_faults.never_ends())
        connection.sendall(raw_get())
        size = 0
        while size < 50 * 2**20:
            size += len(connection.recv(2**20))

    assert size >= 50 * 2**20


@pytest.mark.parametrize("framing", list(Framing))
def test_a_truncated_answer_breaks_off_at_every_byte(framing: Framing) -> None:
    with ReferenceProvider(ZONE) as provider:
        _, whole = head_and_body(exchange_bytes(provider.port, raw_get()))

        for at in range(len(whole)):
            provider.faults.plan("GET /records", framing_faults.truncated(at, framing))
            head, body = head_and_body(exchange_bytes(provider.port, raw_get()))

            assert head.startswith("HTTP/1.1 200 ")
            assert _content_of(body, framing) == whole[:at]
            assert not is_json(_content_of(body, framing))
            if framing is Framing.CONTENT_LENGTH:
                assert f"Content-Length: {len(whole)}" in head


@pytest.mark.parametrize("framing", list(Framing))
def test_the_whole_answer_can_come_in_every_framing(framing: Framing) -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", framing_faults.framed(framing))

        assert fetch_endpoints(provider.url) == ZONE


def test_a_whole_answer_in_chunks_leaves_the_connection_open() -> None:
    """A close that no header announces meets a client at its next request, now and then."""
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", framing_faults.framed(Framing.CHUNKED))
        connection = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=5)
        with closing(connection):
            connection.connect()
            first_socket = connection.sock
            for _ in range(2):
                connection.request("GET", "/records", headers={"Accept": WEBHOOK_MEDIA_TYPE})
                assert len(json.loads(connection.getresponse().read())) == len(ZONE)
            assert connection.sock is first_socket


def test_stopping_a_server_ends_what_would_last_for_ever() -> None:
    with ReferenceProvider(ZONE) as provider:
        provider.faults.plan("GET /records", framing_faults.silence())
        connection = socket.create_connection(("127.0.0.1", provider.port), timeout=5)
        connection.sendall(raw_get())
        while not provider.history.requests("GET /records"):
            assert connection.fileno() >= 0
        began = time.monotonic()

        provider.stop()

        assert time.monotonic() - began < 2.0
        connection.close()


def _received_within(port: int, *, seconds: float) -> tuple[bytes, bool]:
    """What a client hears in so many seconds, and whether the server closed."""
    received = b""
    end = time.monotonic() + seconds
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(raw_get())
        while (left := end - time.monotonic()) > 0:
            connection.settimeout(left)
            try:
                piece = connection.recv(65536)
            except TimeoutError:
                break
            if not piece:
                return received, True
            received += piece
    return received, False


def _content_of(body: bytes, framing: Framing) -> bytes:
    if framing is not Framing.CHUNKED or not body:
        return body
    size, _, rest = body.partition(b"\r\n")
    assert not body.endswith(b"0\r\n\r\n")
    return rest[: int(size, 16)]
