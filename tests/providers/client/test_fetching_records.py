"""Records come back as bytes, undecoded."""

import threading

import pytest

from providers.http.errors import UnwelcomeStatus
from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE
from tests.providers.client.making import make_client
from tests.providers.client.raw_server import answer, chunked, raw_server

BODY = b'[{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.1"]}]'


@pytest.mark.parametrize(
    "sent",
    [
        answer(BODY, content_type=WEBHOOK_MEDIA_TYPE),
        answer(chunked(BODY), "Transfer-Encoding: chunked", content_type=WEBHOOK_MEDIA_TYPE),
        f"HTTP/1.0 200 OK\r\nContent-Type: {WEBHOOK_MEDIA_TYPE}\r\n\r\n".encode() + BODY,
        b"HTTP/1.1 100 Continue\r\n\r\n" + answer(BODY, content_type=WEBHOOK_MEDIA_TYPE),
    ],
    ids=["content-length", "chunked", "close-delimited", "after an interim answer"],
)
def test_it_returns_the_body_byte_for_byte_in_every_framing(sent: bytes) -> None:
    with raw_server(sent) as server:
        records = make_client(server.url).records()

    assert records.body == BODY
    assert records.content_type == WEBHOOK_MEDIA_TYPE
    assert 0 < records.seconds < 10
    assert server.requests[0].startswith(b"GET /records HTTP/1.1\r\n")


def test_it_reports_a_wrong_content_type_and_keeps_the_body() -> None:
    with raw_server(answer(BODY, content_type="text/html; charset=utf-8")) as server:
        records = make_client(server.url).records()

    assert records.body == BODY
    assert records.content_type == "text/html; charset=utf-8"
    assert records.content_type != WEBHOOK_MEDIA_TYPE


@pytest.mark.parametrize("status", ["201 Created", "204 No Content", "206 Partial Content"])
def test_it_takes_no_status_but_200(status: str) -> None:
    with raw_server(answer(status=status)) as server:
        client = make_client(server.url)

        with pytest.raises(UnwelcomeStatus) as caught:
            client.records()

    assert caught.value.status == int(status[:3])


@pytest.mark.parametrize(
    ("base", "asked"),
    [
        ("", "/records"),
        ("/", "/records"),
        ("/dns", "/dns/records"),
        ("/dns/", "/dns/records"),
        ("//dns//a/", "/dns/a/records"),
        ("/dns/./x/../y", "/dns/y/records"),
        ("/../dns", "/dns/records"),
        ("/dns?zone=a", "/dns/records?zone=a"),
        ("/b%C3%BCcher", "/b%C3%BCcher/records"),
    ],
)
def test_it_joins_paths_as_go_does(base: str, asked: str) -> None:
    with raw_server(answer(b"[]")) as server:
        make_client(server.url + base).records()

    assert server.requests[0].split(b" ")[1].decode() == asked


def test_it_ignores_proxies_and_netrc_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("machine 127.0.0.1 login alice password wonderland\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:3128")
    monkeypatch.setenv("ALL_PROXY", "http://192.0.2.1:3128")
    with raw_server(answer(b"[]")) as server:
        records = make_client(server.url).records()

    assert records.body == b"[]"
    assert b"authorization" not in server.requests[0].lower()


def test_it_keeps_no_cookie_and_no_connection_between_calls() -> None:
    with raw_server(answer(b"[]", "Set-Cookie: a=b; Path=/")) as server:
        client = make_client(server.url)
        client.records()
        client.records()

    assert server.connections == 2
    assert b"cookie" not in server.requests[1].lower()


def test_one_client_serves_many_threads() -> None:
    bodies: list[bytes] = []
    with raw_server(answer(BODY)) as server:
        client = make_client(server.url)
        threads = [threading.Thread(target=lambda: bodies.append(client.records().body)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert bodies == [BODY] * 8


def test_a_closed_client_makes_no_call() -> None:
    with raw_server(answer(b"[]")) as server:
        with make_client(server.url) as client:
            client.records()

        with pytest.raises(RuntimeError, match="closed"):
            client.records()

    assert server.connections == 1
