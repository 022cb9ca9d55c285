"""A change set is sent once, byte for byte; afterwards we know exactly how much we know."""

import pickle
import socket
import threading

import pytest

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import Limits
from providers.http.errors import (
    AddressForbidden,
    AnswerTruncated,
    ConnectionRefused,
    DeadlineExceeded,
    FailedAtProvider,
    NameUnresolved,
    NothingCameInTime,
    NothingSent,
    OutcomeUnknown,
    ProviderError,
    Redirected,
    RefusedByProvider,
    TlsFailed,
    TooManyRequests,
    Unreachable,
)
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE
from tests.providers.client.making import HASTY, make_client
from tests.providers.client.raw_server import Play, answer, drip, raw_server, reset, stay_silent
from tests.providers.client.test_unreachable_provider import closed_port, resolve_nothing

CHANGES = b'{ "create":[],  "updateOld":[{"dnsName":"www.example.org"}] }'


@pytest.mark.parametrize("status", ["204 No Content", "200 OK", "201 Created", "202 Accepted"])
def test_it_sends_the_stored_bytes_once_and_takes_any_20x(status: str) -> None:
    with raw_server(answer(status=status)) as server:
        make_client(f"{server.url}/dns/").apply_changes(CHANGES)

    assert len(server.requests) == server.connections == 1
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /dns/records HTTP/1.1\r\n")
    assert f"\r\nContent-Type: {WEBHOOK_MEDIA_TYPE}\r\n".encode() in head + b"\r\n"
    assert b"\r\naccept:" not in head.lower()
    assert body == CHANGES


@pytest.mark.parametrize(
    ("play", "reason"),
    [
        (answer(b"no", status="400 Bad Request"), RefusedByProvider),
        (answer(status="413 Too Large"), RefusedByProvider),
        (answer(status="429 Slow Down"), TooManyRequests),
        (answer(b"route53 said no", status="500 Oh"), FailedAtProvider),
        (answer(b"", "Location: /records/", status="307 Elsewhere"), Redirected),
        (reset, Unreachable),
        (b"", Unreachable),
        (b"HTTP/1.1 20", AnswerTruncated),
        (b"HTTP/1.1 204 No Content\r\n", AnswerTruncated),
        (stay_silent, NothingCameInTime),
        (drip(b"x" * 100, after=b"HTTP/1.1 204 "), DeadlineExceeded),
    ],
)
def test_anything_but_success_after_sending_leaves_the_outcome_unknown(
    play: Play | bytes, reason: type[ProviderError]
) -> None:
    with raw_server(play) as server:
        client = make_client(server.url, limits=HASTY)

        with pytest.raises(OutcomeUnknown) as caught:
            client.apply_changes(CHANGES)

    assert type(caught.value.reason) is reason
    assert server.connections == 1
    assert "Do not send the change again" in caught.value.hint


def test_a_server_that_stops_reading_in_the_middle_leaves_the_outcome_unknown() -> None:
    with raw_server(stay_silent, read_request=False) as server:
        client = make_client(server.url, limits=HASTY)

        with pytest.raises(OutcomeUnknown):
            client.apply_changes(b" " * 32_000_000)


def test_an_early_answer_to_a_large_change_set_is_read() -> None:
    def refuse_early(sock: socket.socket, stopping: threading.Event) -> None:
        sock.recv(1000)
        sock.sendall(answer(b"too large", status="413 Too Large"))
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1_000_000):
            pass

    with raw_server(refuse_early, read_request=False) as server:
        client = make_client(server.url)

        with pytest.raises(OutcomeUnknown) as caught:
            client.apply_changes(b" " * 8_000_000)

    assert isinstance(caught.value.reason, RefusedByProvider)


def test_a_closed_port_got_nothing() -> None:
    client = make_client(f"http://127.0.0.1:{closed_port()}")

    with pytest.raises(NothingSent) as caught:
        client.apply_changes(CHANGES)

    assert type(caught.value.reason) is ConnectionRefused
    assert "may be sent again" in caught.value.hint


def test_a_forbidden_address_got_nothing() -> None:
    with raw_server(answer(status="204 No Content")) as server:
        client = make_client(server.url, policy=AddressPolicy())

        with pytest.raises(NothingSent) as caught:
            client.apply_changes(CHANGES)

    assert isinstance(caught.value.reason, AddressForbidden)
    assert server.connections == 0


def test_an_unknown_name_got_nothing() -> None:
    client = make_client("http://dns.example.org", policy=AddressPolicy(resolve=resolve_nothing))

    with pytest.raises(NothingSent) as caught:
        client.apply_changes(CHANGES)

    assert isinstance(caught.value.reason, NameUnresolved)


def test_a_failed_tls_handshake_got_nothing() -> None:
    with raw_server(b"\x15\x03\x03\x00\x02\x02\x28", read_request=False) as server:
        client = make_client(f"https://127.0.0.1:{server.port}", limits=Limits(seconds=5))

        with pytest.raises(NothingSent) as caught:
            client.apply_changes(CHANGES)

    assert isinstance(caught.value.reason, TlsFailed)


def test_the_wait_a_provider_asks_for_survives_and_so_does_a_pickled_error() -> None:
    with raw_server(answer(b"", "Retry-After: 7", status="429 Slow Down")) as server:
        client = make_client(server.url)

        with pytest.raises(OutcomeUnknown) as caught:
            client.apply_changes(CHANGES)

    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.retry_after == caught.value.retry_after == 7
    assert isinstance(copy.reason, TooManyRequests)
    assert str(copy) == str(caught.value)
