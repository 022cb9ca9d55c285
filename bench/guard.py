"""What the guard costs: reading through it over reading the provider, and a change over the bare requests.

The guard is the role's own process, the providers are memory backends in processes of their own. `guard-get`
reads the provider for one instance; instances that ask within five seconds share it (`guard-get-shared`).
"""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import requests

from bench.bodies import MEDIA_TYPE, OWNERS, make_elements, write_body
from bench.figures import Figure, Report
from bench.processes import prepare, product_folder, run_apart
from bench.transfer import memory_server
from dnsadmin.free_port import find_free_port

GET_NAMES = ("guard-get", "guard-get-shared", "guard-get-bytes")
POST_NAMES = ("guard-post",)
ENCODINGS = ("identity", "gzip")
_TYPED = {"Accept": MEDIA_TYPE, "Content-Type": MEDIA_TYPE}
_PATIENCE = 600
# As long as a reading is shared, and a little.
_NOT_SHARED = 5.5
_PIECE = 1 << 20


class Guarded(NamedTuple):
    """A guard with endpoints `cluster-0` and so on, in front of `provider_url`."""

    url: str
    provider_url: str
    pid: int


class Reading(NamedTuple):
    """One GET: seconds, and the bytes that came."""

    seconds: float
    size: int


def register(provider_id: int, count: int, has_views: object, result: Connection) -> None:
    """Sync a provider, and register instances with a guard endpoint each, in turns of the owners."""
    import django

    django.setup()
    from registry_app.actor import SYSTEM
    from registry_app.models import GuardEndpoint, Instance, Owner
    from registry_app.reconcile.sync import sync_provider

    run = sync_provider(provider_id, actor=SYSTEM, trigger="person")
    if run is None or run.status != "stored":
        raise RuntimeError(f"a sync ended {run and run.status}")
    for number in range(count):
        owner = Owner.objects.get(owner_id=f"cluster-{number % OWNERS}")
        owner.name_patterns = [f"team-{number % OWNERS}.example.org"]
        owner.save()
        GuardEndpoint.objects.create(
            slug=f"instance-{number}",
            provider_id=provider_id,
            instance=Instance.objects.create(owner=owner, name=f"instance-{number}"),
            mode=GuardEndpoint.Mode.ENFORCE,
            deadline_seconds=_PATIENCE,
            max_body_bytes=1 << 30,
            has_own_view=bool(has_views),
        )
    result.send(None)


@contextmanager
def guarded_server(
    folder: Path, seed: Path, instances: int = 1, *, has_views: bool = False
) -> Iterator[Guarded]:
    """The guard role in front of a memory backend with the zone of `seed`."""
    with memory_server(seed) as provider_url:
        (provider_id,) = run_apart(prepare, folder, [provider_url])
        run_apart(register, provider_id, instances, has_views)
        port = find_free_port()
        command = [sys.executable, "-m", "dnsadmin.guard", "--host", "127.0.0.1", "--port", str(port)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as guard:
            try:
                url = f"http://127.0.0.1:{port}"
                _wait_for(url)
                yield Guarded(url, provider_url, guard.pid)
            finally:
                guard.send_signal(signal.SIGTERM)


def measure_get(count: int, report: Report, rounds: int) -> None:
    """Add the figures of GET_NAMES, `rounds` times. `count` is endpoints."""
    with product_folder() as folder:
        seed = folder / "seed.json"
        write_body(seed, count // 2, unmanaged_every=0)
        with guarded_server(folder, seed) as guard:
            address = f"{guard.url}/instance-0"
            for encoding in ENCODINGS:
                read(address, encoding)
            for number in range(rounds):
                time.sleep(_NOT_SHARED)
                # In turns: who comes first after a pause finds cold caches.
                both = (guard.provider_url, address) if number % 2 else (address, guard.provider_url)
                readings = {url: read(url) for url in both}
                new, straight, shared = readings[address], readings[guard.provider_url], read(address)
                plain, compressed = (read(address, encoding) for encoding in ENCODINGS)
                report.add(Figure("guard-get", new.seconds, straight.seconds, 1.2))
                report.add(Figure("guard-get-shared", shared.seconds, straight.seconds, 1.2))
                report.add(Figure("guard-get-bytes", compressed.size, plain.size, 0.3, "B"))


def measure_post(count: int, report: Report, rounds: int) -> None:
    """Add the figures of POST_NAMES, `rounds` times. `count` is record sets, each with a claim."""
    with product_folder() as folder:
        seed = folder / "seed.json"
        write_body(seed, count, unmanaged_every=0)
        with guarded_server(folder, seed) as guard, memory_server(seed) as floor_url:
            for number in range(rounds + 1):
                body = make_change(OWNERS * number)
                seconds = post(f"{guard.url}/instance-0/records", body)
                floor = post(f"{floor_url}/records", body) + sum(read(floor_url).seconds for _ in range(2))
                if number:  # the first one loads what later ones have
                    report.add(Figure("guard-post", seconds, floor, 1.5))


def read(url: str, encoding: str = "gzip") -> Reading:
    """GET /records. Instances ask for gzip; a provider need not give it."""
    started, size = time.perf_counter(), 0
    headers = {"Accept": MEDIA_TYPE, "Accept-Encoding": encoding}
    with requests.get(f"{url}/records", headers=headers, stream=True, timeout=_PATIENCE) as answer:
        answer.raise_for_status()
        while piece := answer.raw.read(_PIECE, decode_content=False):
            size += len(piece)
    return Reading(time.perf_counter() - started, size)


def post(url: str, body: bytes) -> float:
    """Seconds of a POST."""
    started = time.perf_counter()
    requests.post(url, data=body, headers=_TYPED, timeout=_PATIENCE).raise_for_status()
    return time.perf_counter() - started


def make_change(number: int, before: int = 1, after: int = 9) -> bytes:
    """A change set that gives one record set of a zone of `write_body` another target, with its claim."""
    old, new = (",".join(make_elements(number, last_octet)) for last_octet in (before, after))
    return f'{{"updateOld":[{old}],"updateNew":[{new}]}}'.encode()


def _wait_for(url: str) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            requests.get(f"{url}/healthz", timeout=5).raise_for_status()
        except requests.RequestException:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return
