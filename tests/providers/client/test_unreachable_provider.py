"""Where no HTTP answer comes, the error says why: refused, not in time, not resolved, or not HTTP.

What this deployment does not allow is refused before anything is dialed, in one text for open and closed
ports: an address field is no port scanner.
"""

import ipaddress
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from providers.http.address_policy import AddressPolicy, PolicySettings
from providers.http.bounded_http import Limits
from providers.http.errors import (
    AddressForbidden,
    ConnectionRefused,
    NameUnresolved,
    NothingCameInTime,
    ProviderError,
    Unreachable,
)
from tests.providers.client.making import HASTY, make_client
from tests.providers.client.raw_server import Play, raw_server, reset, stay_silent


def closed_port() -> int:
    """A port of loopback where nothing listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
    return port


def resolve_nothing(host: str, port: int) -> Sequence[str]:
    """A name server that knows no name."""
    raise socket.gaierror(socket.EAI_NONAME, "unknown")


def failure_of(port: int, scheme: str = "http", limits: Limits = HASTY) -> ProviderError:
    """What a connection to that port of loopback fails with."""
    with pytest.raises(ProviderError) as caught:
        make_client(f"{scheme}://127.0.0.1:{port}", limits=limits).records()
    return caught.value


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_closed_port_is_told_at_once_and_as_refused(scheme: str) -> None:
    began = time.monotonic()

    failure = failure_of(closed_port(), scheme, Limits(seconds=600))

    assert (type(failure), failure.code) == (ConnectionRefused, "connection_refused")
    assert "the connection was refused" in str(failure)
    assert " s." not in str(failure)
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_within_so_many_seconds_is_only_said_after_so_many_seconds(scheme: str) -> None:
    with raw_server(stay_silent, read_request=scheme == "http") as server:
        began = time.monotonic()
        failure = failure_of(server.port, scheme)

    assert (type(failure), failure.code) == (NothingCameInTime, "timed_out")
    assert f"within {HASTY.seconds:g} s" in str(failure)
    assert time.monotonic() - began >= HASTY.seconds


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "play",
    [reset, b"", b"SSH-2.0-OpenSSH_9.6\r\n", b"-ERR unknown command\r\n", b"\x00" * 9000],
    ids=["reset", "closes", "ssh", "redis", "zeros"],
)
def test_what_speaks_no_http_is_told_from_what_does_not_listen(play: Play | bytes, scheme: str) -> None:
    with raw_server(play, read_request=scheme == "http") as server:
        failure = failure_of(server.port, scheme)

    assert (type(failure), failure.code) == (Unreachable, "unreachable")
    assert "no HTTP response came" in str(failure)


def test_a_forbidden_address_is_told_the_same_whether_something_listens_there_or_not() -> None:
    closed = closed_port()
    with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]") as server:
        told = {
            (str(error).replace(str(port), "PORT"), error.hint.replace(str(port), "PORT"))
            for port in (closed, server.port)
            for error in [_refusal(f"http://127.0.0.1:{port}", AddressPolicy())]
        }

    assert len(told) == 1


def test_a_refusal_names_the_setting_that_would_allow_it() -> None:
    said = PolicySettings(schemes="SCHEMES", hosts="HOSTS", networks="NETWORKS", loopback="LOOPBACK")
    policy = AddressPolicy(settings=said, networks=(ipaddress.ip_network("192.0.2.0/24"),))

    def named(url: str, policy: AddressPolicy) -> list[str]:
        hint = _refusal(url, policy).hint
        return [
            word for word in ("SCHEMES", "HOSTS", "NETWORKS", "LOOPBACK", "always refused") if word in hint
        ]

    def resolve_elsewhere(host: str, port: int) -> Sequence[str]:
        return ["198.51.100.1"]

    by_scheme = replace(policy, schemes=frozenset({"https"}))
    by_host = replace(policy, hosts=frozenset({".example.net"}))
    by_name = replace(policy, resolve=resolve_elsewhere)
    assert named("http://192.0.2.1", by_scheme) == ["SCHEMES"]
    assert named("http://other.example.org", by_host) == ["HOSTS"]
    assert named("http://198.51.100.1", policy) == ["NETWORKS"]
    assert named("http://127.0.0.1", policy) == ["NETWORKS", "LOOPBACK"]
    assert named("http://169.254.169.254", policy) == ["always refused"]
    # Of a name, nothing is told of where it leads.
    assert named("http://name.example.org", by_name) == ["NETWORKS", "LOOPBACK", "always refused"]


def _refusal(url: str, policy: AddressPolicy) -> ProviderError:
    with pytest.raises(AddressForbidden) as caught:
        make_client(url, policy=policy, limits=HASTY).records()
    return caught.value


def test_a_plain_http_server_behind_an_https_url_is_unreachable() -> None:
    with raw_server(b"HTTP/1.1 400 Bad Request\r\n\r\n", read_request=False) as server:
        failure = failure_of(server.port, "https")

    assert type(failure) is Unreachable
    assert "TLS" in failure.hint


def test_a_name_server_that_does_not_answer_is_told_from_one_that_knows_no_such_name() -> None:
    asked = threading.Event()

    def resolve_never(host: str, port: int) -> Sequence[str]:
        asked.wait(10)
        return []

    client = make_client("http://dns.example.org", policy=AddressPolicy(resolve=resolve_never), limits=HASTY)
    with pytest.raises(NameUnresolved, match="was not resolved within") as caught:
        client.records()
    asked.set()

    assert "name server" in caught.value.hint


def test_a_name_without_an_address_is_unresolved() -> None:
    client = make_client("http://dns.example.org", policy=AddressPolicy(resolve=resolve_nothing))

    with pytest.raises(NameUnresolved, match=r"dns\.example\.org") as caught:
        client.records()

    assert caught.value.code == "name_unresolved"


@pytest.mark.parametrize("found", [[], ["127.0.0.1"] * 17, ["not an address"]])
def test_an_absurd_look_up_is_unresolved(found: list[str]) -> None:
    policy = AddressPolicy(allow_loopback=True, resolve=lambda host, port: found)

    with pytest.raises(NameUnresolved):
        make_client("http://dns.example.org", policy=policy).records()


def test_the_next_address_of_a_name_is_tried_when_the_first_one_is_closed() -> None:
    with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]") as server:
        policy = AddressPolicy(allow_loopback=True, resolve=lambda host, port: ["127.0.0.2", "127.0.0.1"])

        records = make_client(f"http://dns.example.org:{server.port}", policy=policy).records()

    assert records.body == b"[]"
