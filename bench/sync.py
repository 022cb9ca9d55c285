"""What a sync costs: seconds, peak memory, statements, and the ratio to a floor measured in the same run.

N record sets, nearly all with a claim, are served as one static answer by another process. Each sync runs
in a process of its own, so that its peak memory is its own. The database is a fresh SQLite file, or
DATABASE_URL, which must then be empty.
"""

import json
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.floor import measure_decode, measure_insert

MEDIA_TYPE = "application/external.dns.webhook+json;version=1"
OWNERS = 40
UNMANAGED_EVERY = 50
# What the sync is called, every how many record sets one has another target, whether the order differs.
STEPS = (
    ("first sync", 0, False),
    ("unchanged", 0, False),
    ("1 % changed", 100, False),
    ("reordered", 100, True),
)


class StaticAnswers(BaseHTTPRequestHandler):
    """The negotiate call and one file."""

    body_path = Path()

    def do_GET(self) -> None:
        """Answer what every webhook provider answers."""
        records = self.path.endswith("/records")
        size = self.body_path.stat().st_size if records else 2
        self.send_response(200)
        self.send_header("Content-Type", MEDIA_TYPE)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        if not records:
            self.wfile.write(b"{}")
            return
        with self.body_path.open("rb") as file:
            while piece := file.read(1 << 20):
                self.wfile.write(piece)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
        """Say nothing."""


def serve(body_path: Path, port: Connection) -> None:
    """Serve until the parent ends."""
    StaticAnswers.body_path = body_path
    server = ThreadingHTTPServer(("127.0.0.1", 0), StaticAnswers)
    port.send(server.server_port)
    server.serve_forever()


def write_body(
    path: Path,
    count: int,
    *,
    changed_every: int = 0,
    shuffled: bool = False,
    owners: int = OWNERS,
    unmanaged_every: int = UNMANAGED_EVERY,
) -> None:
    """The answer: `count` record sets, a few unmanaged, every `changed_every`-th with another target."""
    lines: list[str] = []
    for number in range(count):
        name = f"app-{number:07d}.team-{number % OWNERS}.example.org"
        last = 9 if changed_every and number % changed_every == 0 else 1
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{last}"
        lines.append(f'{{"dnsName":"{name}","targets":["{address}"],"recordType":"A","recordTTL":300}}')
        if unmanaged_every and number % unmanaged_every == 0:
            continue
        labels = (
            f"heritage=external-dns,external-dns/owner=cluster-{number % owners},"
            f"external-dns/resource=ingress/shop/app-{number:07d}"
        )
        lines.append(
            f'{{"dnsName":"a-{name}","targets":["\\"{labels}\\""],"recordType":"TXT","recordTTL":300}}'
        )
    if shuffled:
        random.Random(7).shuffle(lines)
    path.write_text("[" + ",".join(lines) + "]", encoding="utf-8")


def measure_sync(provider_id: int, said: Connection) -> None:
    """One sync, in this process."""
    import django

    django.setup()
    from django.db import connection

    from registry_app.actor import SYSTEM
    from registry_app.models import RecordSet
    from registry_app.reconcile.sync import sync_provider

    statements: list[int] = []

    def count(execute: Callable[..., object], sql: str, *rest: object) -> object:
        statements.append(len(sql))
        return execute(sql, *rest)

    started = time.perf_counter()
    with connection.execute_wrapper(count):
        run = sync_provider(provider_id, actor=SYSTEM, trigger="person")
    seconds = time.perf_counter() - started
    said.send(
        {
            "status": str(run.status) if run else "no lease",
            "error": run.error if run else "",
            "seconds": round(seconds, 2),
            "fetch_seconds": round((run.fetch_milliseconds or 0) / 1000, 2) if run else 0,
            "store_seconds": round((run.store_milliseconds or 0) / 1000, 2) if run else 0,
            "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "statements": len(statements),
            "created": run.created if run else 0,
            "changed": run.changed if run else 0,
            "rows": RecordSet.objects.filter(provider_id=provider_id).count(),
        }
    )


def prepare(state: Path, port: int, said: Connection) -> None:
    """A migrated database with one provider in it."""
    import django

    from dnsadmin.prepare import prepare_state

    prepare_state(state)
    django.setup()
    from django.core.management import call_command

    from registry_app.models import Provider

    call_command("migrate", verbosity=0)
    provider = Provider.objects.create(
        name="bench",
        url=f"http://127.0.0.1:{port}",
        max_body_bytes=1024 * 1024 * 1024,
        max_items=10_000_000,
        deadline_seconds=600,
    )
    said.send(provider.pk)


def run_apart(target: Callable[..., None], *arguments: object) -> Any:
    """Run in a fresh process and return what it said."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=target, args=(*arguments, there))
    process.start()
    there.close()
    try:
        return here.recv()
    finally:
        process.join()


def measure_syncs(count: int) -> None:
    """Print one line of JSON for each sync: first, unchanged, 1 % changed, reordered.

    `floor_seconds` is a bare decode of the same bytes and, for the first sync, bare inserts of as many
    rows; `ratio` is what the sync took over it.
    """
    with tempfile.TemporaryDirectory(prefix="dnsadmin-bench-") as name:
        folder = Path(name)
        os.environ |= {
            "DNSADMIN_STATE_DIR": name,
            "DNSADMIN_ALLOW_LOOPBACK": "1",
            "DJANGO_SETTINGS_MODULE": "dnsadmin.settings",
        }
        body = folder / "records.json"
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        server = context.Process(target=serve, args=(body, there), daemon=True)
        server.start()
        provider_id = run_apart(prepare, folder, here.recv())
        for sync, changed_every, shuffled in STEPS:
            if sync != "unchanged":
                write_body(body, count, changed_every=changed_every, shuffled=shuffled)
            figures = run_apart(measure_sync, provider_id)
            floor = measure_decode(body)
            if sync == "first sync":
                floor += measure_insert(folder, 2 * count)
            _print(sync, count, body, floor, figures)
        server.terminate()


def _print(sync: str, count: int, body: Path, floor: float, figures: dict[str, Any]) -> None:
    size = body.stat().st_size // (1024 * 1024)
    line = {"sync": sync, "record_sets": count, "body_mib": size, **figures}
    line |= {"floor_seconds": round(floor, 3), "ratio": round(figures["seconds"] / floor, 1)}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
