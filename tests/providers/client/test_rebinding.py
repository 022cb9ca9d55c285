"""A name is looked up once per call, and the connection goes to the address that was checked."""

from collections.abc import Sequence

import pytest

from providers.http.address_policy import AddressPolicy
from providers.http.errors import AddressForbidden
from tests.providers.client.making import make_client
from tests.providers.client.raw_server import answer, raw_server


class ChangingNames:
    """A name server under hostile control: a first answer, then others."""

    def __init__(self, *answers: str) -> None:
        self.answers = answers
        self.asked: list[tuple[str, int]] = []

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return [self.answers[min(len(self.asked), len(self.answers)) - 1]]


def test_a_call_dials_what_it_checked_though_the_name_moved() -> None:
    names = ChangingNames("127.0.0.1", "169.254.169.254")
    with raw_server(answer(b"[]")) as server:
        policy = AddressPolicy(allow_loopback=True, resolve=names)
        records = make_client(f"http://rebind.example.org:{server.port}", policy=policy).records()

    assert records.body == b"[]"
    assert names.asked == [("rebind.example.org", server.port)]
    assert f"Host: rebind.example.org:{server.port}\r\n".encode() in server.requests[0]


def test_the_next_call_checks_again() -> None:
    names = ChangingNames("127.0.0.1", "169.254.169.254")
    with raw_server(answer(b"[]")) as server:
        policy = AddressPolicy(allow_loopback=True, resolve=names)
        client = make_client(f"http://rebind.example.org:{server.port}", policy=policy)
        client.records()

        with pytest.raises(AddressForbidden):
            client.records()

    assert server.connections == 1


def test_a_name_the_system_would_resolve_elsewhere_goes_where_it_was_checked() -> None:
    names = ChangingNames("127.0.0.1")
    with raw_server(answer(b"[]")) as server:
        # To the system, a name under .invalid has no address at all (RFC 6761).
        policy = AddressPolicy(allow_loopback=True, resolve=names)
        records = make_client(f"http://dns.invalid:{server.port}", policy=policy).records()

    assert records.body == b"[]"
