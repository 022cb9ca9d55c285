"""Whatever bytes a provider sends, a call ends with a value or with a ProviderError."""

import socket
import threading
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.http.bounded_http import Limits
from providers.http.errors import ProviderError
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE
from tests.depth import examples
from tests.providers.client.making import make_client
from tests.providers.client.raw_server import answer, chunked, raw_server

LIMITS = Limits(seconds=5, max_body_bytes=2000)
HONEST = [
    answer(b'{"include":["example.org"]}', content_type=WEBHOOK_MEDIA_TYPE),
    answer(chunked(b"[{}]" * 5), "Transfer-Encoding: chunked", content_type=WEBHOOK_MEDIA_TYPE),
    answer(b"no", "Retry-After: 5", "Set-Cookie: a=b; expires=Thu, 29 Oct 2026", status="429 Slow Down"),
    answer(b"", "Location: /records", status="301 Moved"),
]
PIECES = st.sampled_from(
    [
        b"\r\n",
        b"\n",
        b"\x00",
        b"HTTP/1.1 ",
        b"200",
        b":",
        b"chunked",
        b"-1",
        b"0x",
        b"Content-Length: ",
        b"\xff",
    ]
) | st.binary(max_size=20)


@st.composite
def mutated_answers(draw: st.DrawFn) -> bytes:
    """An honest answer with a few places overwritten, cut or grown."""
    data = draw(st.sampled_from(HONEST))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 12)))
        data = data[:start] + draw(PIECES) + data[end:]
    return data


def outcome_of(call: Callable[[], object]) -> str:
    """What a call ended with; anything but a value or a ProviderError passes through and fails the test."""
    try:
        return type(call()).__name__
    except ProviderError as error:
        return str(error)


@pytest.mark.random
def test_no_answer_gets_past_our_errors() -> None:
    sent = b""

    def play(sock: socket.socket, stopping: threading.Event) -> None:
        sock.sendall(sent)

    with raw_server(play) as server:
        client = make_client(server.url, limits=LIMITS)

        @settings(deadline=None, max_examples=examples(300))
        @given(mutated_answers() | st.lists(PIECES, max_size=12).map(b"".join))
        def answer_with(data: bytes) -> None:
            nonlocal sent
            sent = data
            for call in (client.negotiate, client.records):
                said = outcome_of(call)
                assert said.isprintable()
                assert 0 < len(said) < 1000

        answer_with()

    assert server.connections >= 2 * examples(300)
