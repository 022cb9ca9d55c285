"""What a transfer costs: from approved to verified, over the bare requests.

10,000 record sets of one owner behind the memory backend, served by another process, move to another owner.
The floor sends the very change sets that the transfer stored to another server with the same zone, and reads
that whole zone after each.
"""

import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import requests

from bench.bodies import MEDIA_TYPE, write_body
from bench.figures import Figure, Report
from bench.processes import prepare, product_folder, run_apart

NAMES = ("transfer-10k", "transfer-preview", "transfer-request")
SOURCE, TARGET = "cluster-0", "green-cluster"
_COUNT = 10_000
_BATCH = 1_000
_PATIENCE = 3600


def run_whole_transfer(provider_id: int, batch_size: int, result: Connection) -> None:
    """Sync, preview, request and run a transfer of everything, in this process; sends the seconds of each of
    the last three, and the bodies that were sent."""
    import django

    django.setup()
    from django.contrib.auth import get_user_model

    from registry_app.actor import SYSTEM, Actor
    from registry_app.models import Owner, Provider, Transfer
    from registry_app.reconcile.sync import sync_provider
    from registry_app.transfer.plan.preview import preview_transfer
    from registry_app.transfer.plan.transfer_request import Selection, TransferRequest
    from registry_app.transfer.request_transfer import request_transfer
    from registry_app.transfer.send.run_transfer import run_transfer

    Provider.objects.filter(pk=provider_id).update(
        batch_size=batch_size,
        max_transfer_count=10_000_000,
        max_transfer_percent=100,
        approval_policy=Provider.ApprovalPolicy.NONE,
    )
    Owner.objects.create(owner_id=TARGET, status=Owner.Status.REGISTERED)
    sync_provider(provider_id, actor=SYSTEM, trigger="person")
    user = get_user_model().objects.create_superuser("alice")
    alice = Actor(kind="user", name="alice", user_id=user.pk, is_superuser=True)
    asked = TransferRequest(
        kind=Transfer.Kind.TRANSFER,
        selection=Selection(owner_id=SOURCE),
        target_owner_id=TARGET,
        target_intent=Transfer.TargetIntent.SAME,
        reason="Measured.",
    )
    started = time.perf_counter()
    seen = {plan.provider.pk: plan.fingerprint for plan in preview_transfer(alice, asked)}
    previewed = time.perf_counter()
    (transfer,) = request_transfer(alice, replace(asked, fingerprints=seen))
    asked_for = time.perf_counter()
    gc.collect()
    gc.freeze()  # a worker runs it, which has loaded everything before: see dnsadmin.celery
    requested = time.perf_counter()
    # A run gives way to others after a while and is picked up again, as by the scheduler.
    unfinished = (Transfer.Status.APPROVED, Transfer.Status.SENDING, Transfer.Status.SENT)
    while transfer.status in unfinished and time.perf_counter() < started + _PATIENCE:
        run_transfer(transfer.pk)
        transfer.refresh_from_db()
    finished = time.perf_counter()
    if transfer.status != Transfer.Status.VERIFIED:
        raise RuntimeError(f"the transfer ended {transfer.status}: {transfer.status_reason}")
    bodies = list(transfer.steps.order_by("pk").values_list("change_set", flat=True))
    result.send((previewed - started, asked_for - previewed, finished - requested, bodies))


def measure_transfer(report: Report, rounds: int) -> None:
    """Add the figures of NAMES, `rounds` times. Preview and request have no bar; their floor is that of the
    run."""
    for _ in range(rounds):
        with product_folder() as folder:
            seed = folder / "records.json"
            write_body(seed, _COUNT, owners=1, unmanaged_every=0)
            with memory_server(seed) as url:
                (provider_id,) = run_apart(prepare, folder, [url])
                preview, request, run, bodies = run_apart(run_whole_transfer, provider_id, _BATCH)
            with memory_server(seed) as url:
                floor = _send(url, bodies)
        report.add(Figure("transfer-10k", run, floor, 1.5))
        report.add(Figure("transfer-preview", preview, floor))
        report.add(Figure("transfer-request", request, floor))


@contextmanager
def memory_server(seed: Path) -> Iterator[str]:
    """The URL of the product's own server in front of the memory backend, filled from a file."""
    command = [sys.executable, "-m", "providers.servers", "memory", "--seed", str(seed)]
    ports = ["--port", "0", "--operations-port", "0"]
    with subprocess.Popen([*command, *ports], stdout=subprocess.PIPE, text=True) as server:
        try:
            yield json.loads(server.stdout.readline())["url"] if server.stdout else ""
        finally:
            server.terminate()


def _send(url: str, bodies: list[str | bytes]) -> float:
    headers = {"Accept": MEDIA_TYPE, "Content-Type": MEDIA_TYPE}
    started = time.perf_counter()
    with requests.Session() as session:
        for body in bodies:
            data = body.encode() if isinstance(body, str) else bytes(body)
            answer = session.post(f"{url}/records", data=data, headers=headers, timeout=600)
            answer.raise_for_status()
            with session.get(f"{url}/records", headers=headers, stream=True, timeout=600) as zone:
                while zone.raw.read(1 << 20):
                    pass
    return time.perf_counter() - started
