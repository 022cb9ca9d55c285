"""Adjusting: our endpoints out, theirs back, both typed."""

import pytest

from providers.http.bounded_http import Limits
from providers.http.errors import MalformedAnswer, RefusedByProvider
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE, encode_endpoints
from tests.providers.client.making import make_client
from tests.providers.client.raw_server import answer, raw_server

WWW = Endpoint(dns_name="www.example.org", record_type="A", targets=("192.0.2.1",))
ADJUSTED = Endpoint(dns_name="www.example.org", record_type="A", targets=("192.0.2.1",), record_ttl=300)


def test_it_sends_the_endpoints_and_returns_what_came_back() -> None:
    with raw_server(answer(encode_endpoints([ADJUSTED]))) as server:
        adjusted = make_client(f"{server.url}/dns").adjust_endpoints([WWW])

    assert adjusted == (ADJUSTED,)
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /dns/adjustendpoints HTTP/1.1\r\n")
    assert f"\r\nContent-Type: {WEBHOOK_MEDIA_TYPE}\r\n".encode() in head + b"\r\n"
    assert f"\r\nAccept: {WEBHOOK_MEDIA_TYPE}\r\n".encode() in head + b"\r\n"
    assert body == encode_endpoints([WWW])


@pytest.mark.parametrize("body", [b"null", b"[]"])
def test_null_and_an_empty_list_are_no_endpoints(body: bytes) -> None:
    with raw_server(answer(body)) as server:
        adjusted = make_client(server.url).adjust_endpoints([WWW])

    assert adjusted == ()


@pytest.mark.parametrize("body", [b"", b"{}", b"[", b'[{"dnsName":3}]'])
def test_an_unreadable_answer_is_malformed(body: bytes) -> None:
    with raw_server(answer(body)) as server:
        client = make_client(server.url)

        with pytest.raises(MalformedAnswer, match="adjusted endpoints"):
            client.adjust_endpoints([WWW])


def test_more_items_than_allowed_are_refused() -> None:
    with raw_server(answer(encode_endpoints([WWW] * 3))) as server:
        client = make_client(server.url, limits=Limits(max_items=2))

        with pytest.raises(MalformedAnswer):
            client.adjust_endpoints([WWW])


def test_a_refusal_is_an_error() -> None:
    with raw_server(answer(b"no", status="400 Bad Request")) as server:
        client = make_client(server.url)

        with pytest.raises(RefusedByProvider, match="responded with 400: no"):
            client.adjust_endpoints([WWW])
