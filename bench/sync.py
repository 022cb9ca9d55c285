"""What a sync costs: first, the same bytes, another order, one changed, 1 % changed, 1 % in another order.

N record sets, nearly all with a claim, are served as one static answer by another process. Each sync runs in
a process of its own. D is the floor of a sync that has to look at every element: the same bytes downloaded in
pieces and decoded into typed values.
"""

import gc
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from bench.bodies import static_server, write_body
from bench.figures import Figure, Report
from bench.floor import measure_download, measure_insert
from bench.processes import peak_bytes, prepare, product_folder, run_apart

NAMES = (
    "sync-first",
    "sync-identical",
    "sync-reordered",
    "sync-1pct",
    "sync-1pct-reordered",
    "sync-1",
    "memory-first",
    "memory-same",
)


_SMALL = 100


class SyncFigures(NamedTuple):
    """One sync: how it ended, how long it took, and how much memory beyond an idle worker's."""

    status: str
    seconds: float
    memory: int


def measure_sync(provider_id: int, small_id: int, result: Connection) -> None:
    """One sync in this process, which synced a small provider before, as a worker has."""
    import django

    django.setup()
    from django.db import connection

    from registry_app.actor import SYSTEM
    from registry_app.reconcile.sync import sync_provider

    connection.ensure_connection()
    sync_provider(small_id, actor=SYSTEM, trigger="person")
    gc.freeze()  # as a worker does when it has loaded everything: see dnsadmin.celery
    idle = peak_bytes()
    started = time.perf_counter()
    run = sync_provider(provider_id, actor=SYSTEM, trigger="person")
    seconds = time.perf_counter() - started
    status = f"{run.status} {run.error}".strip() if run else "no lease"
    result.send(SyncFigures(status, seconds, peak_bytes() - idle))


def measure_syncs(count: int, report: Report, rounds: int) -> None:
    """Add the figures of NAMES, `rounds` times, each with its floor beside it."""
    with product_folder() as folder:
        body, small = folder / "records.json", folder / "small.json"
        write_body(small, _SMALL)
        with static_server(body) as url, static_server(small) as small_url:
            for _ in range(rounds):
                _measure_round(count, report, folder, body, (url, small_url))


def _measure_round(count: int, report: Report, folder: Path, body: Path, urls: tuple[str, str]) -> None:
    url = urls[0]
    providers = tuple(run_apart(prepare, folder, list(urls)))
    write_body(body, count)
    size = body.stat().st_size
    first = _sync(providers, "stored")
    _, decoded = run_apart(measure_download, url)
    inserted = run_apart(measure_insert, folder)
    report.add(Figure("sync-first", first.seconds, decoded + inserted, 3.0))
    report.add(Figure("memory-first", first.memory, size, 3.0, "B"))
    same = _sync(providers, "unchanged")
    downloaded, _ = run_apart(measure_download, url)
    report.add(Figure("sync-identical", same.seconds, downloaded, 1.3))
    report.add(Figure("memory-same", same.memory, size, 1.5, "B"))
    # Every fiftieth record set has no claim: these have one.
    one, percent = frozenset({count // 2 + 1}), range(1, count, 100)
    steps: tuple[tuple[str, str, float, dict[str, Any]], ...] = (
        ("sync-reordered", "unchanged", 2.0, {"shuffled": True}),
        ("sync-1", "stored", 1.0, {"changed": one}),
        ("sync-1pct", "stored", 2.5, {"changed": percent}),
        ("sync-1pct-reordered", "stored", 2.5, {"shuffled": True, "changed": percent, "last_octet": 8}),
    )
    for name, status, bar, options in steps:
        write_body(body, count, **options)
        found = _sync(providers, status)
        _, decoded = run_apart(measure_download, url)
        report.add(Figure(name, found.seconds, decoded, bar))


def _sync(providers: tuple[int, ...], status: str) -> SyncFigures:
    found: SyncFigures = run_apart(measure_sync, *providers)
    if found.status != status:
        raise RuntimeError(f"a sync ended {found.status}, not {status}")
    return found
