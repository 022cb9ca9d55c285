"""What our server costs: GET /records of 100,000 endpoints of the memory backend, over the same bytes served
statically by the standard library. Each side in a process of its own, the same reader. Bar: 2.5.
"""

import json
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import requests

from bench.sync import MEDIA_TYPE, serve, write_body

_RUNS = 7


def measure_serve(count: int) -> None:
    """Print one line of JSON: the best of seven readings, the floor, the ratio. `count` is endpoints."""
    with tempfile.TemporaryDirectory(prefix="dnsadmin-bench-") as name:
        seed, body = Path(name) / "seed.json", Path(name) / "body.json"
        write_body(seed, count // 2, unmanaged_every=0)
        command = [sys.executable, "-m", "providers.servers", "memory", "--seed", str(seed), "--port", "0"]
        context = get_context("spawn")
        here, there = context.Pipe()
        static = context.Process(target=serve, args=(body, there), daemon=True)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                ready = json.loads(server.stdout.readline()) if server.stdout else {}
                body.write_bytes(
                    requests.get(f"{ready['url']}/records", headers=_HEADERS, timeout=60).content
                )
                static.start()
                static_url = f"http://127.0.0.1:{here.recv()}"
                seconds = min(_measure_read(ready["url"]) for _ in range(_RUNS))
                floor = min(_measure_read(static_url) for _ in range(_RUNS))
            finally:
                server.terminate()
                static.terminate()
    line = {"serve": count, "seconds": round(seconds, 3), "floor_seconds": round(floor, 3)}
    sys.stdout.write(json.dumps({**line, "ratio": round(seconds / floor, 2), "bar": 2.5}) + "\n")
    sys.stdout.flush()


_HEADERS = {"Accept": MEDIA_TYPE}


def _measure_read(url: str) -> float:
    started = time.perf_counter()
    with requests.get(f"{url}/records", headers=_HEADERS, stream=True, timeout=60) as answer:
        while answer.raw.read(1 << 20):
            pass
    return time.perf_counter() - started
