"""A provider's URL is read strictly, and shown without what is secret in it."""

import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.http.address import MAX_URL_LENGTH, parse_provider_url
from providers.http.errors import InvalidAddress, InvalidCredentials, ProviderError


@pytest.mark.parametrize(
    ("url", "origin", "base"),
    [
        ("http://dns.example.org", "http://dns.example.org", "http://dns.example.org"),
        ("HTTP://DNS.Example.org:80/", "http://dns.example.org", "http://dns.example.org/"),
        ("https://dns.example.org:443/a", "https://dns.example.org", "https://dns.example.org/a"),
        ("http://dns.example.org:8888?x=1", "http://dns.example.org:8888", "http://dns.example.org:8888?x=1"),
        ("http://[2001:DB8::1]:8888/a/", "http://[2001:db8::1]:8888", "http://[2001:db8::1]:8888/a/"),
        (
            "http://b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher.example.org",
            "http://xn--bcher-kva.example.org",
            "http://xn--bcher-kva.example.org",
        ),
        ("http://my_svc.ns.svc.cluster.local.", "http://my_svc.ns.svc.cluster.local.", None),
    ],
)
def test_it_reads_what_people_write(url: str, origin: str, base: str | None) -> None:
    address = parse_provider_url(url)

    assert address.origin == origin
    assert address.base_url == (base or url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "dns.example.org",
        "//dns.example.org",
        "ftp://dns.example.org",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://dns.example.org#records",
        "http://dns.example.org/#",
        "http://dns.example.org/a b",
        "http://dns.example.org\n",
        "\thttp://dns.example.org",
        "http://dns.exa\nmple.org",
        "http://dns.example.org/\x00",
        "http://dns.example.org/\N{RIGHT-TO-LEFT OVERRIDE}gro",
        "http://dns.example.org\\@127.0.0.1",
        "http://alice:a@b@dns.example.org",
        "http://dns.example.org:0",
        "http://dns.example.org:65536",
        "http://dns.example.org:-1",
        "http://dns.example.org:http",
        "http://dns..example.org",
        "http://.example.org",
        "http://-%41.example.org",
        f"http://{'a' * 64}.example.org",
        f"http://{'a.' * 127}example.org",
        "http://127.1",
        "http://2130706433",
        "http://0x7f000001",
        "http://0177.0.0.1",
        "http://127.0.0.1.",
        "http://[::1",
        "http://[fe80::1%25eth0]",
        "http://[dns.example.org]",
        "http://[v1.a]",
        "http://\N{ZERO WIDTH JOINER}.example.org",
        f"http://dns.example.org/{'a' * MAX_URL_LENGTH}",
    ],
)
def test_it_refuses_what_two_programs_could_read_in_two_ways(url: str) -> None:
    with pytest.raises(InvalidAddress) as caught:
        parse_provider_url(url)

    assert caught.value.code == "invalid_address"
    assert "http://host:port/path" in caught.value.hint


def test_user_info_becomes_a_login_and_leaves_the_address() -> None:
    address = parse_provider_url("http://alice:rabbit%40hole@dns.example.org:8888/a?token=tea")

    assert address.login is not None
    assert (address.login.username, address.login.password) == ("alice", "rabbit@hole")
    assert address.base_url == "http://dns.example.org:8888/a?token=tea"
    for shown in (str(address), repr(address), address.origin, f"{address}"):
        assert "rabbit" not in shown
        assert "tea" not in shown


def test_a_user_name_alone_is_a_login_too() -> None:
    address = parse_provider_url("http://alice@dns.example.org")

    assert address.login is not None
    assert (address.login.username, address.login.password) == ("alice", "")


@pytest.mark.parametrize("userinfo", ["alice:%ff", "alice:rabbit%0a", "al%3aice:rabbit", "alice:rab/bit"])
def test_a_login_that_cannot_be_sent_is_refused_without_repeating_it(userinfo: str) -> None:
    with pytest.raises((InvalidAddress, InvalidCredentials)) as caught:
        parse_provider_url(f"http://{userinfo}@dns.example.org")

    assert "rab" not in "".join(traceback.format_exception(caught.value, limit=0))


@settings(deadline=None)
@given(st.text() | st.text("htps:/@[]%.#?\\0123456789abcx-_ ").map(lambda text: f"http://{text}"))
def test_any_text_is_an_address_or_an_error_in_our_words(text: str) -> None:
    try:
        address = parse_provider_url(text)
    except ProviderError:
        return

    again = parse_provider_url(address.base_url)
    assert again == address
    assert parse_provider_url(address.joined("records")).path.endswith("/records")
