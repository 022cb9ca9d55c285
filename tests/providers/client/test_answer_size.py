"""Nothing a provider sends grows without bound in our memory."""

import pytest

from providers.http.bounded_http import Limits
from providers.http.errors import AnswerTooLarge, MalformedAnswer
from tests.providers.client.making import make_client
from tests.providers.client.raw_server import Play, answer, chunked, never_end, raw_server

SMALL = Limits(seconds=20, max_body_bytes=1000)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_body_of_exactly_the_limit_is_read(size: int) -> None:
    body = b"x" * 1000
    with raw_server(answer(chunked(body, size), "Transfer-Encoding: chunked")) as server:
        records = make_client(server.url, limits=Limits(seconds=20, max_body_bytes=1000)).records()

    assert records.body == body


@pytest.mark.parametrize(
    "sent",
    [
        answer(b"x" * 1001),
        answer(b"", "Content-Length: 99999999999999"),
        answer(chunked(b"x" * 1001), "Transfer-Encoding: chunked"),
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001,
    ],
    ids=["length", "promised length", "chunks", "close-delimited"],
)
def test_a_body_over_the_limit_is_refused(sent: bytes) -> None:
    with raw_server(sent) as server:
        client = make_client(server.url, limits=SMALL)

        with pytest.raises(AnswerTooLarge, match="larger than allowed") as caught:
            client.records()

    assert caught.value.code == "answer_too_large"


ENDLESS: dict[str, Play] = {
    "body": never_end(b"[" * 9000, after=b"HTTP/1.1 200 OK\r\n\r\n"),
    "chunks": never_end(b"2328\r\n" + b"[" * 9000 + b"\r\n", after=CHUNKED),
    "tiny chunks": never_end(b"1\r\n[\r\n" * 1000, after=CHUNKED),
    "a negative chunk": never_end(b"x" * 9000, after=CHUNKED + b"-1\r\n"),
    "trailers": never_end(b"X: y\r\n" * 1000, after=CHUNKED + b"0\r\n"),
    "head": never_end(b"X: " + b"y" * 9000 + b"\r\n", after=b"HTTP/1.1 200 OK\r\n"),
    "interim answers": never_end(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_ends_is_refused_when_it_is_too_much(name: str) -> None:
    with raw_server(ENDLESS[name]) as server:
        client = make_client(server.url, limits=SMALL)

        with pytest.raises((AnswerTooLarge, MalformedAnswer)):
            client.records()


def test_more_than_a_hundred_headers_are_refused() -> None:
    with raw_server(answer(b"[]", *[f"X-{i}: y" for i in range(101)])) as server:
        client = make_client(server.url)

        with pytest.raises(MalformedAnswer):
            client.records()


def test_a_head_over_its_limit_is_refused() -> None:
    with raw_server(answer(b"[]", f"X-Long: {'y' * 40_000}", f"X-Longer: {'y' * 40_000}")) as server:
        client = make_client(server.url)

        with pytest.raises(AnswerTooLarge):
            client.records()
