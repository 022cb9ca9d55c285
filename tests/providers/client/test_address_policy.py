"""Which addresses we may connect to: every address a name has is checked, some are never allowed."""

import ipaddress

import pytest

from providers.http.address import ProviderAddress, parse_provider_url
from providers.http.address_policy import AddressPolicy, fetch_checked_addresses
from providers.http.errors import AddressForbidden, InvalidAddress
from tests.providers.client.making import make_client
from tests.providers.client.raw_server import answer, raw_server

EVERYTHING = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
NEVER = [
    "169.254.169.254",
    "169.254.170.2",
    "169.254.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "0.0.0.0",
    "0.1.2.3",
    "224.0.0.1",
    "239.255.255.250",
    "255.255.255.255",
    "240.0.0.1",
    "::",
    "fe80::1",
    "fe80::1%lo",
    "fec0::1",
    "ff02::1",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fd00:42::42",
    "::ffff:127.0.0.1",
    "::ffff:192.0.2.1",
    "::ffff:169.254.169.254",
    "::ffff:0:192.0.2.1",
    "::192.0.2.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b::192.0.2.1",
    "64:ff9b:1::1",
    "2002:a9fe:a9fe::1",
    "2001:0:192::1",
]


def _check(url: str, policy: AddressPolicy) -> None:
    fetch_checked_addresses(parse_provider_url(url), policy, seconds=10.0)


@pytest.mark.parametrize("text", NEVER)
def test_some_addresses_are_refused_whatever_the_deployment_allows(text: str) -> None:
    policy = AddressPolicy(networks=EVERYTHING, allow_loopback=True, resolve=lambda host, port: [text])

    with pytest.raises(AddressForbidden) as caught:
        _check("http://dns.example.org:8888", policy)

    assert caught.value.code == "address_forbidden"
    assert text not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize("text", [t for t in NEVER if "%" not in t])
def test_the_same_addresses_are_refused_when_written_in_the_url(text: str) -> None:
    host = f"[{text}]" if ":" in text else text
    policy = AddressPolicy(networks=EVERYTHING, allow_loopback=True)

    with pytest.raises(AddressForbidden):
        _check(f"http://{host}:8888", policy)


@pytest.mark.parametrize("text", ["192.0.2.1", "10.0.0.1", "2001:db8::1", "fd12:3456::1"])
def test_other_addresses_are_allowed_where_nothing_is_said(text: str) -> None:
    host = f"[{text}]" if ":" in text else text

    _check(f"http://{host}:8888", AddressPolicy())

    assert AddressPolicy().may_connect_to(ipaddress.ip_address(text))


def test_only_the_allowed_networks_are_synced() -> None:
    policy = AddressPolicy(networks=(ipaddress.ip_network("192.0.2.0/24"),))

    assert policy.may_connect_to(ipaddress.ip_address("192.0.2.1"))
    assert not policy.may_connect_to(ipaddress.ip_address("198.51.100.1"))
    assert not policy.may_connect_to(ipaddress.ip_address("2001:db8::1"))


@pytest.mark.parametrize("text", ["127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_needs_its_flag_or_its_network(text: str) -> None:
    address = ipaddress.ip_address(text)
    others = (ipaddress.ip_network("192.0.2.0/24"),)

    assert not AddressPolicy().may_connect_to(address)
    assert not AddressPolicy(networks=others).may_connect_to(address)
    assert AddressPolicy(allow_loopback=True).may_connect_to(address)
    assert AddressPolicy(networks=others, allow_loopback=True).may_connect_to(address)
    assert AddressPolicy(networks=(ipaddress.ip_network(text),)).may_connect_to(address)


def test_one_forbidden_address_of_a_name_forbids_the_name() -> None:
    with raw_server(answer(b"[]")) as server:
        policy = AddressPolicy(
            allow_loopback=True, resolve=lambda host, port: ["127.0.0.1", "169.254.169.254"]
        )
        client = make_client(f"http://dns.example.org:{server.port}", policy=policy)

        with pytest.raises(AddressForbidden):
            client.records()

    assert server.connections == 0


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("dns.example.org", True),
        ("DNS.example.org.", True),
        ("a.blue.example.org", True),
        ("blue.example.org", False),
        ("evilblue.example.org", False),
        ("dns.example.org.evil.example", False),
        ("192.0.2.1", False),
    ],
)
def test_only_the_allowed_hosts_are_synced(host: str, allowed: bool) -> None:
    policy = AddressPolicy(hosts=frozenset({"dns.example.org", ".blue.example.org"}))

    assert policy.may_connect_to_host(host) is allowed


def test_a_scheme_that_is_not_allowed_is_refused() -> None:
    policy = AddressPolicy(schemes=frozenset({"https"}))

    with pytest.raises(AddressForbidden, match=r"http://192\.0\.2\.1"):
        _check("http://192.0.2.1", policy)
    _check("https://192.0.2.1", policy)

    with pytest.raises(InvalidAddress):
        _check("ftp://192.0.2.1", policy)


def test_the_refusal_is_the_same_for_open_and_closed_ports() -> None:
    with raw_server(answer(b"[]")) as server:
        url = f"http://127.0.0.1:{server.port}"
        with pytest.raises(AddressForbidden) as opened:
            make_client(url, policy=AddressPolicy()).records()
    with pytest.raises(AddressForbidden) as closed:
        make_client(url, policy=AddressPolicy()).records()

    assert (str(opened.value), opened.value.hint) == (str(closed.value), closed.value.hint)
    assert server.connections == 0


def test_the_system_resolver_knows_localhost() -> None:
    with raw_server(answer(b"[]")) as server:
        records = make_client(f"http://localhost:{server.port}").records()

    assert records.body == b"[]"


def test_an_address_of_ipv6_is_dialed() -> None:
    with raw_server(answer(b"[]"), host="::1") as server:
        records = make_client(f"http://[::1]:{server.port}").records()

    assert records.body == b"[]"
    assert f"\r\nHost: [::1]:{server.port}\r\n".encode() in server.requests[0]
    assert ProviderAddress("http", "::1", server.port).origin == f"http://[::1]:{server.port}"
