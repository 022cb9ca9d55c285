"""Where no HTTP answer comes, the text is the same: an address field is no port scanner."""

import socket
from collections.abc import Sequence

import pytest

from providers.http.address_policy import AddressPolicy
from providers.http.errors import NameUnresolved, ProviderError, Unreachable
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


def failure_of(port: int, scheme: str = "http") -> ProviderError:
    """What a visit to that port of loopback fails with."""
    with pytest.raises(ProviderError) as caught:
        make_client(f"{scheme}://127.0.0.1:{port}", limits=HASTY).records()
    return caught.value


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "play",
    [reset, stay_silent, b"", b"SSH-2.0-OpenSSH_9.6\r\n", b"-ERR unknown command\r\n", b"\x00" * 9000],
    ids=["reset", "silent", "closes", "ssh", "redis", "zeros"],
)
def test_an_open_port_that_speaks_no_http_looks_like_a_closed_one(play: Play | bytes, scheme: str) -> None:
    closed = closed_port()
    refused = failure_of(closed, scheme)
    with raw_server(play, read_request=scheme == "http") as server:
        strange = failure_of(server.port, scheme)

    assert type(strange) is type(refused) is Unreachable
    assert strange.code == refused.code == "unreachable"
    assert str(strange).replace(str(server.port), "PORT") == str(refused).replace(str(closed), "PORT")
    assert strange.hint == refused.hint


def test_a_plain_http_server_behind_an_https_url_is_unreachable() -> None:
    with raw_server(b"HTTP/1.1 400 Bad Request\r\n\r\n", read_request=False) as server:
        failure = failure_of(server.port, "https")

    assert type(failure) is Unreachable
    assert "TLS" in failure.hint


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
