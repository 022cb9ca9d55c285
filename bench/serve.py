"""What our server costs: GET /records of N endpoints of the memory backend, over the same bytes served
statically by the standard library. Each side in a process of its own, the same reader.
"""

import tempfile
import time
from pathlib import Path

import requests

from bench.bodies import MEDIA_TYPE, static_server, write_body
from bench.figures import Figure, Report
from bench.transfer import memory_server

NAMES = ("serve",)
_HEADERS = {"Accept": MEDIA_TYPE}


def measure_serve(count: int, report: Report, rounds: int) -> None:
    """Add the figure, `rounds` times. `count` is endpoints."""
    with tempfile.TemporaryDirectory(prefix="dnsadmin-bench-") as name:
        seed, body = Path(name) / "seed.json", Path(name) / "body.json"
        write_body(seed, count // 2, unmanaged_every=0)
        with memory_server(seed) as url:
            body.write_bytes(requests.get(f"{url}/records", headers=_HEADERS, timeout=60).content)
            with static_server(body) as static_url:
                for _ in range(rounds):
                    report.add(Figure("serve", _measure_read(url), _measure_read(static_url), 2.5))


def _measure_read(url: str) -> float:
    started = time.perf_counter()
    with requests.get(f"{url}/records", headers=_HEADERS, stream=True, timeout=60) as answer:
        while answer.raw.read(1 << 20):
            pass
    return time.perf_counter() - started
