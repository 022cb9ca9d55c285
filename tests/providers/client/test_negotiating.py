"""Negotiation: the bare URL, the media type, the domain filter."""

import pytest

from providers.http.errors import MalformedAnswer, NotAProvider
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE
from tests.providers.client.making import make_client
from tests.providers.client.raw_server import answer, raw_server


def test_it_asks_the_url_as_it_is_and_reads_the_filter() -> None:
    body = b'{"include":["example.org"],"exclude":["internal.example.org"]}'
    with raw_server(answer(body, content_type=WEBHOOK_MEDIA_TYPE)) as server:
        parsed = make_client(f"{server.url}/dns/?zone=a%2fb").negotiate()

    assert parsed.filter.matches("www.example.org")
    assert not parsed.filter.matches("www.internal.example.org")
    head = server.requests[0]
    assert head.startswith(b"GET /dns/?zone=a%2Fb HTTP/1.1\r\n")
    assert f"\r\nAccept: {WEBHOOK_MEDIA_TYPE}\r\n".encode() in head
    assert b"\r\nAccept-Encoding: identity\r\n" in head
    assert f"\r\nHost: 127.0.0.1:{server.port}\r\n".encode() in head


@pytest.mark.parametrize("path", ["/%7Edns", "/a/./b/../c/", "//dns", "/a;b=c,d"])
def test_it_rewrites_nothing_in_the_path(path: str) -> None:
    with raw_server(answer(b"{}", content_type=WEBHOOK_MEDIA_TYPE)) as server:
        make_client(server.url + path).negotiate()

    assert server.requests[0].split(b" ")[1].decode() == path


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "application/json",
        f"{WEBHOOK_MEDIA_TYPE}; charset=utf-8",
        WEBHOOK_MEDIA_TYPE.replace(";", "; "),
        WEBHOOK_MEDIA_TYPE.upper(),
        f"{WEBHOOK_MEDIA_TYPE}\r\nContent-Type: text/html",
    ],
)
def test_it_takes_no_other_content_type(content_type: str | None) -> None:
    with raw_server(answer(b"{}", content_type=content_type)) as server:
        client = make_client(server.url)

        with pytest.raises(NotAProvider, match="not as a webhook provider") as caught:
            client.negotiate()

    assert caught.value.code == "not_a_provider"
    assert caught.value.hint


def test_it_takes_any_2xx() -> None:
    with raw_server(answer(b"{}", status="206 Partial", content_type=WEBHOOK_MEDIA_TYPE)) as server:
        parsed = make_client(server.url).negotiate()

    assert parsed.filter.matches("www.example.org")


def test_a_filter_that_cannot_be_read_is_an_error_in_our_words() -> None:
    with raw_server(answer(b'{"include":', content_type=WEBHOOK_MEDIA_TYPE)) as server:
        client = make_client(server.url)

        with pytest.raises(MalformedAnswer, match="domain filter that cannot be read"):
            client.negotiate()
