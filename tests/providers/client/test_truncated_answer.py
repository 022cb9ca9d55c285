"""An answer cut at any byte is refused: by the client where the framing tells, else by the decoder."""

import gzip
import socket
import threading

import pytest

from providers.http.errors import (
    AnswerTruncated,
    CompressedAnswer,
    MalformedAnswer,
    ProviderError,
    Unreachable,
)
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_records
from tests.depth import deep_after
from tests.providers.client.making import make_client
from tests.providers.client.raw_server import answer, chunked, raw_server

BODY = b'[{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.1"]}]'
FRAMED = {
    "chunked": answer(chunked(BODY, 16), "Transfer-Encoding: chunked"),
    "content-length": answer(BODY),
    "chunked, padded sizes, trailer": answer(
        b"00048\r\n" + BODY + b"\r\n000;last\r\nX-Sum: 1\r\n\r\n", "Transfer-Encoding: chunked"
    ),
}


@pytest.mark.parametrize("framing", deep_after(1, FRAMED))
def test_a_framed_answer_cut_at_any_byte_is_refused(framing: str) -> None:
    whole = FRAMED[framing]
    cuts = iter(range(len(whole) + 1))

    def send_a_bit_more(sock: socket.socket, stopping: threading.Event) -> None:
        sock.sendall(whole[: next(cuts)])

    with raw_server(send_a_bit_more) as server:
        client = make_client(server.url)

        for length in range(len(whole)):
            with pytest.raises((AnswerTruncated, Unreachable)) as caught:
                client.records()
            assert isinstance(caught.value, Unreachable) == (length < len("HTTP/"))

        assert client.records().body == BODY


def test_a_close_delimited_answer_cut_at_any_byte_is_refused_by_its_decoder() -> None:
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    cuts = iter(range(len(BODY) + 1))

    def send_a_bit_more(sock: socket.socket, stopping: threading.Event) -> None:
        sock.sendall(head + BODY[: next(cuts)])

    with raw_server(send_a_bit_more) as server:
        client = make_client(server.url)

        for _ in range(len(BODY)):
            cut = client.records().body
            with pytest.raises(WireError):
                decode_records(cut, max_items=10)

        whole = decode_records(client.records().body, max_items=10)

    assert len(whole.endpoints) == 1


def test_a_reset_in_the_middle_is_a_truncation() -> None:
    def reset_later(sock: socket.socket, stopping: threading.Event) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        sock.close()

    with raw_server(reset_later) as server:
        client = make_client(server.url)

        with pytest.raises(AnswerTruncated):
            client.records()


@pytest.mark.parametrize(
    "header",
    [
        "Content-Length: +2",
        "Content-Length: -2",
        "Content-Length: 2_0",
        "Content-Length: two",
        "Content-Length: 2, 2",
        "Content-Length: 2\r\nContent-Length: 3",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    ],
)
def test_a_framing_two_programs_could_read_in_two_ways_is_refused(header: str) -> None:
    with raw_server(answer(b"[]", header)) as server:
        client = make_client(server.url)

        with pytest.raises((MalformedAnswer, AnswerTruncated)):
            client.records()


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "GZIP", "identity, gzip", "zstd"])
def test_a_compressed_body_nobody_asked_for_is_refused_unopened(coding: str) -> None:
    bomb = gzip.compress(b"[" * 10_000_000)
    with raw_server(answer(bomb, f"Content-Encoding: {coding}")) as server:
        client = make_client(server.url)

        with pytest.raises(CompressedAnswer) as caught:
            client.records()

    assert caught.value.code == "compressed_answer"


def test_compression_that_is_not_admitted_comes_back_as_it_is() -> None:
    bomb = gzip.compress(b"[" * 10_000_000)
    with raw_server(answer(bomb)) as server:
        records = make_client(server.url).records()

    assert records.body == bomb


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 abc\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n", b"HTTP/1.1 99 X\r\n\r\n"]
)
def test_a_broken_status_line_is_malformed(head: bytes) -> None:
    with raw_server(head) as server:
        client = make_client(server.url)

        with pytest.raises(ProviderError) as caught:
            client.records()

    assert isinstance(caught.value, MalformedAnswer)
