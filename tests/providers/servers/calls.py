"""The calls of a webhook client, written out: requests and raw sockets, no client of ours."""

import json
import socket

import msgspec
import requests

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import encode_change_set

MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
ACCEPT = {"Accept": MEDIA_TYPE}
CONTENT = {"Content-Type": MEDIA_TYPE}


def fetch_records(url: str, *, seconds: float = 5.0) -> requests.Response:
    return requests.get(f"{url}/records", headers=ACCEPT, timeout=seconds, allow_redirects=False)


def fetch_endpoints(url: str) -> list[Endpoint]:
    answer = fetch_records(url)
    assert answer.status_code == 200, answer.text
    return msgspec.json.decode(answer.content, type=list[Endpoint])


def post_changes(url: str, change_set: ChangeSet, *, seconds: float = 5.0) -> requests.Response:
    return post_body(url, encode_change_set(change_set), seconds=seconds)


def post_body(url: str, body: bytes, *, seconds: float = 5.0) -> requests.Response:
    return requests.post(f"{url}/records", data=body, headers=CONTENT, timeout=seconds)


def exchange_bytes(port: int, sent: bytes, *, seconds: float = 20.0) -> bytes:
    """Send raw bytes, then read until the server closes. A busy machine may take seconds for that."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(sent)
        return read_to_end(connection)


def read_to_end(connection: socket.socket) -> bytes:
    received = bytearray()
    while piece := connection.recv(65536):
        received += piece
    return bytes(received)


def raw_get(path: str = "/records") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: {MEDIA_TYPE}\r\nConnection: close\r\n\r\n".encode()


def head_and_body(received: bytes) -> tuple[str, bytes]:
    head, _, body = received.partition(b"\r\n\r\n")
    return head.decode("latin-1"), body


def is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True
