"""Responses of providers as files, and a server of static bytes in a process of its own."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
OWNERS = 40
UNMANAGED_EVERY = 50


def write_body(
    path: Path,
    count: int,
    *,
    changed: frozenset[int] | range = frozenset(),
    last_octet: int = 9,
    shuffled: bool = False,
    owners: int = OWNERS,
    unmanaged_every: int = UNMANAGED_EVERY,
) -> None:
    """`count` record sets with their claims, a few unmanaged; those in `changed` have another target."""
    lines: list[str] = []
    for number in range(count):
        is_claimed = not unmanaged_every or number % unmanaged_every != 0
        both = make_elements(number, last_octet if number in changed else 1, owners=owners)
        lines += both if is_claimed else both[:1]
    if shuffled:
        random.Random(7).shuffle(lines)
    path.write_text("[" + ",".join(lines) + "]", encoding="utf-8")


def make_elements(number: int, last_octet: int, *, owners: int = OWNERS) -> list[str]:
    """A record set, and its claim."""
    name = f"app-{number:07d}.team-{number % OWNERS}.example.org"
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{last_octet}"
    labels = (
        f"heritage=external-dns,external-dns/owner=cluster-{number % owners},"
        f"external-dns/resource=ingress/shop/app-{number:07d}"
    )
    return [
        f'{{"dnsName":"{name}","targets":["{address}"],"recordType":"A","recordTTL":300}}',
        f'{{"dnsName":"a-{name}","targets":["\\"{labels}\\""],"recordType":"TXT","recordTTL":300}}',
    ]


@contextmanager
def static_server(body: Path) -> Iterator[str]:
    """The URL of a server that answers every negotiation, and every `.../records` with this file."""
    here, there = get_context("spawn").Pipe()
    server = get_context("spawn").Process(target=_serve, args=(body, there), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        server.terminate()
        server.join()


class _StaticAnswers(BaseHTTPRequestHandler):
    body_path = Path()

    def do_GET(self) -> None:
        is_records = self.path.endswith("/records")
        size = self.body_path.stat().st_size if is_records else 2
        self.send_response(200)
        self.send_header("Content-Type", MEDIA_TYPE)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        if not is_records:
            self.wfile.write(b"{}")
            return
        with self.body_path.open("rb") as file:
            while piece := file.read(1 << 20):
                self.wfile.write(piece)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
        """Print nothing."""


def _serve(body: Path, port: Connection) -> None:
    _StaticAnswers.body_path = body
    server = ThreadingHTTPServer(("127.0.0.1", 0), _StaticAnswers)
    port.send(server.server_port)
    server.serve_forever()
