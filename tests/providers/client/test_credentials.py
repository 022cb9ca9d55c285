"""Logins reach the provider, and nobody else."""

import base64
import traceback

import pytest

from providers.http.bounded_http import Limits
from providers.http.credentials import BasicLogin, BearerLogin, Credentials, Login
from providers.http.errors import InvalidCredentials, ProviderError
from tests.providers.client.making import make_client
from tests.providers.client.raw_server import answer, raw_server, reset

PASSWORD = "rabbit hole/42"


@pytest.mark.parametrize(
    ("login", "sent"),
    [
        (BasicLogin("alice", PASSWORD), base64.b64encode(f"alice:{PASSWORD}".encode()).decode()),
        (BasicLogin("", "p\N{POUND SIGN}"), base64.b64encode(":p\N{POUND SIGN}".encode()).decode()),
        (BearerLogin("rabbit-42"), "rabbit-42"),
    ],
)
def test_the_login_is_sent_with_every_call(login: Login, sent: str) -> None:
    with raw_server(answer(b"[]")) as server:
        client = make_client(server.url, credentials=Credentials(login=login))
        client.records()
        client.adjust_endpoints([])
        client.apply_changes(b"{}")

    scheme = "Bearer" if isinstance(login, BearerLogin) else "Basic"
    for request in server.requests:
        assert f"\r\nAuthorization: {scheme} {sent}\r\n".encode() in request


def test_user_info_of_the_url_is_sent_as_basic_login() -> None:
    with raw_server(answer(b"[]")) as server:
        make_client(f"http://alice:rabbit%20hole%2F42@127.0.0.1:{server.port}/").records()

    sent = base64.b64encode(f"alice:{PASSWORD}".encode())
    assert b"\r\nAuthorization: Basic " + sent + b"\r\n" in server.requests[0]
    assert b"alice" not in server.requests[0]


def test_two_logins_are_refused() -> None:
    credentials = Credentials(login=BearerLogin("rabbit-42"))

    with pytest.raises(InvalidCredentials, match="Two logins"):
        make_client("http://alice:rabbit@dns.example.org", credentials=credentials)


@pytest.mark.parametrize(
    "token", ["", "a b", "a\r\nX-Admin: 1", "a\n", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"]
)
def test_a_token_that_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidCredentials):
        BearerLogin(token)


@pytest.mark.parametrize(
    ("username", "password"), [("al:ice", "x"), ("alice", "x\r\nX-Admin: 1"), ("\x00", "")]
)
def test_a_basic_login_that_cannot_be_sent_is_refused(username: str, password: str) -> None:
    with pytest.raises(InvalidCredentials):
        BasicLogin(username, password)


def test_a_certificate_without_its_key_is_refused() -> None:
    with pytest.raises(InvalidCredentials, match="one of the two is missing"):
        Credentials(client_certificate_pem="certificate")


def test_no_repr_shows_a_secret() -> None:
    credentials = Credentials(
        login=BasicLogin("alice", "rabbit"), client_certificate_pem="public", client_key_pem="rabbit key"
    )

    for shown in (repr(credentials), str(credentials), repr(credentials.login), repr(BearerLogin("rabbit"))):
        assert "rabbit" not in shown
        assert "[secret]" in shown or "client_certificate=given" in shown


@pytest.mark.parametrize("status", ["401 No", "500 Oh", "302 Elsewhere", "204 Nothing"])
@pytest.mark.parametrize("login", [BasicLogin("alice", "rabbit hole/42"), BearerLogin("rabbit-hole-42")])
def test_a_provider_that_echoes_our_login_does_not_make_us_show_it(login: Login, status: str) -> None:
    echo = " ".join([*login.secrets(), login.header_value()])
    sent = answer(echo.encode(), f"Location: http://192.0.2.1/{login.secrets()[-1]}", status=status)
    with raw_server(sent) as server:
        client = make_client(server.url, credentials=Credentials(login=login))

        with pytest.raises(ProviderError) as caught:
            client.records()

    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caught.value.hint
    for secret in login.secrets():
        assert secret not in shown


def test_an_error_shows_neither_the_login_nor_the_query_of_a_url() -> None:
    with raw_server(reset) as server:
        url = f"http://alice:rabbit@127.0.0.1:{server.port}/a?token=teapot"
        client = make_client(url, limits=Limits(seconds=5))

        with pytest.raises(ProviderError) as caught:
            client.records()

    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__dict__)
    assert "rabbit" not in shown
    assert "teapot" not in shown


@pytest.mark.parametrize("line", [b"HTTP/1.1 rabbit", b"HTTP/1.1 200 OK\r\nContent-Length: 5, rabbit"])
def test_a_broken_head_that_echoes_our_login_does_not_make_us_show_it(line: bytes) -> None:
    with raw_server(line + b"\r\n\r\n") as server:
        client = make_client(server.url, credentials=Credentials(login=BearerLogin("rabbit")))

        with pytest.raises(ProviderError) as caught:
            client.records()

    assert "rabbit" not in "".join(traceback.format_exception(caught.value, limit=0))
