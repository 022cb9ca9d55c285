"""Every status but success is an error that says what to do; redirects are named, never followed."""

import pytest

from providers.http.answer import parse_retry_after
from providers.http.errors import (
    FailedAtProvider,
    Redirected,
    RefusedByProvider,
    TooManyRequests,
    UnwelcomeStatus,
)
from tests.providers.client.making import make_client
from tests.providers.client.raw_server import answer, raw_server

NOON = 1_793_275_200.0  # Thu, 29 Oct 2026 12:00:00 GMT


def refusal_of(sent: bytes) -> UnwelcomeStatus:
    """What a client says of that answer."""
    with raw_server(sent) as server:
        client = make_client(server.url)
        with pytest.raises(UnwelcomeStatus) as caught:
            client.records()
    assert server.connections == 1
    return caught.value


@pytest.mark.parametrize(
    ("status", "expected", "code"),
    [
        (400, RefusedByProvider, "refused_by_provider"),
        (401, RefusedByProvider, "refused_by_provider"),
        (404, RefusedByProvider, "refused_by_provider"),
        (429, TooManyRequests, "too_many_requests"),
        (500, FailedAtProvider, "failed_at_provider"),
        (503, FailedAtProvider, "failed_at_provider"),
        (511, FailedAtProvider, "failed_at_provider"),
        (999, FailedAtProvider, "failed_at_provider"),
        (101, UnwelcomeStatus, "unwelcome_status"),
    ],
)
def test_each_status_has_its_error(status: int, expected: type[UnwelcomeStatus], code: str) -> None:
    error = refusal_of(answer(b"because", status=f"{status} X"))

    assert type(error) is expected
    assert (error.code, error.status) == (code, status)
    assert f"responded with {status}" in str(error)
    assert error.hint


@pytest.mark.parametrize("location", ["/records/", "https://other.example.org/records", ""])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_named_and_not_followed(status: int, location: str) -> None:
    error = refusal_of(answer(b"", f"Location: {location}", status=f"{status} Elsewhere"))

    assert isinstance(error, Redirected)
    assert (location or "no address") in str(error)


def test_a_redirect_shows_no_login_and_no_query() -> None:
    error = refusal_of(answer(b"", "Location: http://alice:rabbit@192.0.2.1/a?token=hole#x", status="302 X"))

    assert "http://192.0.2.1/a" in str(error)
    assert "rabbit" not in str(error)
    assert "hole" not in str(error)


def test_the_body_of_a_redirect_is_not_read() -> None:
    error = refusal_of(answer(b"", "Location: /a", "Content-Length: 99999999999", status="302 X"))

    assert isinstance(error, Redirected)


def test_an_explanation_is_shown_short_and_printable() -> None:
    body = b"zone \x1b[31mexample.org\r\n\x00is \xff locked " + b"z" * 5000

    error = refusal_of(answer(body, status="500 Oh"))

    said = str(error).partition("responded with 500: ")[2]
    assert said.startswith("zone [31mexample.org is \N{REPLACEMENT CHARACTER} locked zzz")
    assert said.isprintable()
    assert len(said) == 200


@pytest.mark.parametrize("status", ["429 Slow Down", "503 Busy"])
def test_the_wait_a_provider_asks_for_is_kept(status: str) -> None:
    error = refusal_of(answer(b"", "Retry-After: 120", status=status))

    assert error.retry_after == 120


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("9" * 400, 86_400.0),
        ("Thu, 29 Oct 2026 12:01:00 GMT", 60.0),
        ("Thu, 29 Oct 2026 11:00:00 GMT", 0.0),
        ("Fri, 29 Oct 2027 12:00:00 GMT", 86_400.0),
        ("", None),
        ("-5", None),
        ("soon", None),
        ("1e5", None),
        ("\N{ARABIC-INDIC DIGIT FIVE}", None),
        ("Thu, 99 Oct 2026 99:00:00 GMT", None),
    ],
)
def test_retry_after_is_read_within_bounds(text: str, seconds: float | None) -> None:
    assert parse_retry_after(text, now=NOON) == seconds
