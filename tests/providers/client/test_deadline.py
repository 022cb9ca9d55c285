"""The deadline covers everything, whatever the provider drips."""

import socket
import threading
import time
from collections.abc import Sequence

import pytest

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import Limits
from providers.http.credentials import Credentials
from providers.http.errors import DeadlineExceeded, FailedAtProvider, NameUnresolved, ProviderError
from tests.providers.client.certificates import Authority
from tests.providers.client.making import HASTY, make_client
from tests.providers.client.raw_server import Play, drip, raw_server, stay_silent

pytestmark = pytest.mark.deep

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


def headers_then_silence(sock: socket.socket, stopping: threading.Event) -> None:
    """A complete head that promises a body, and no body."""
    sock.sendall(HEAD + b"Content-Length: 100\r\n\r\n")
    stopping.wait(10)


DRIPS: dict[str, Play] = {
    "headers only": headers_then_silence,
    "status line": drip(b" 200 OK" + b" " * 500, after=b"HTTP/1.1"),
    "head": drip(b"X-Slow: " + b"a" * 500, after=HEAD),
    "interim answers": drip(b"HTTP/1.1 100 Continue\r\n\r\n" * 50, after=b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body with a length": drip(b"[" * 500, after=HEAD + b"Content-Length: 1000\r\n\r\n"),
    "body without a length": drip(b"[" * 500, after=HEAD + b"\r\n"),
    "chunks": drip(b"1\r\n[\r\n" * 100, after=HEAD + b"Transfer-Encoding: chunked\r\n\r\n"),
    "chunk extension": drip(b"1;" + b"a" * 500, after=HEAD + b"Transfer-Encoding: chunked\r\n\r\n"),
    "trailers": drip(b"X: y\r\n" * 100, after=HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"),
}


def seconds_until_failure(port: int, expected: type[ProviderError]) -> float:
    """How long a hasty client takes to give that error."""
    started = time.monotonic()
    with pytest.raises(expected):
        make_client(f"http://127.0.0.1:{port}", limits=HASTY).records()
    return time.monotonic() - started


@pytest.mark.parametrize("name", DRIPS)
def test_no_drip_outlives_the_deadline(name: str) -> None:
    with raw_server(DRIPS[name]) as server:
        seconds = seconds_until_failure(server.port, DeadlineExceeded)

    assert 0.25 < seconds < 2


@pytest.mark.parametrize("play", [stay_silent, drip(b"\x16\x03\x03\x40\x00" + b"\x02" * 500)])
def test_a_tls_handshake_does_not_outlive_it_either(play: Play) -> None:
    with raw_server(play, read_request=False) as server:
        client = make_client(f"https://127.0.0.1:{server.port}", limits=HASTY)
        started = time.monotonic()

        with pytest.raises(ProviderError):
            client.records()

    assert time.monotonic() - started < 2


def test_a_drip_inside_tls_does_not_outlive_it_either(authority: Authority) -> None:
    play = drip(b"[" * 500, after=HEAD + b"Content-Length: 1000\r\n\r\n")
    with raw_server(play, tls=authority.server_context("127.0.0.1")) as server:
        trusting = Credentials(ca_pem=authority.pem)
        client = make_client(f"https://127.0.0.1:{server.port}", limits=HASTY, credentials=trusting)
        started = time.monotonic()

        with pytest.raises(DeadlineExceeded):
            client.records()

    assert time.monotonic() - started < 2


def test_a_slow_name_server_does_not_outlive_it_either() -> None:
    answered = threading.Event()

    def resolve_slowly(host: str, port: int) -> Sequence[str]:
        answered.wait(10)
        return ["127.0.0.1"]

    client = make_client("http://dns.example.org", limits=HASTY, policy=AddressPolicy(resolve=resolve_slowly))
    started = time.monotonic()

    with pytest.raises(NameUnresolved):
        client.records()

    assert time.monotonic() - started < 2
    answered.set()


def test_an_error_whose_explanation_hangs_is_still_that_error() -> None:
    def fail_and_hang(sock: socket.socket, stopping: threading.Event) -> None:
        sock.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\n")
        stopping.wait(10)

    with raw_server(fail_and_hang) as server:
        client = make_client(server.url, limits=Limits(seconds=8))
        started = time.monotonic()

        with pytest.raises(FailedAtProvider):
            client.records()

    assert time.monotonic() - started < 5


def test_an_answer_just_in_time_is_used() -> None:
    with raw_server(drip(b"[]", after=HEAD + b"Content-Length: 2\r\n\r\n")) as server:
        records = make_client(server.url, limits=Limits(seconds=5)).records()

    assert records.body == b"[]"
