"""What a transfer of everything costs: preview, request and run, and the ratio to the bare exchanges.

N record sets of one owner behind the memory backend, served by another process, move to another owner in
change sets of 1,000. The floor is what no transfer can do without: as many reads of the whole zone as the
run made, each fetched and decoded, nothing else. The database is a fresh SQLite file, or DATABASE_URL.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import requests

from bench.sync import MEDIA_TYPE, prepare, run_apart, write_body
from providers.wire.endpoint import Endpoint

_SOURCE, _TARGET = "cluster-0", "green-cluster"
_BATCH = 1000
_PATIENCE = 3600


def measure_transfer_run(provider_id: int, said: Connection) -> None:
    """Sync, preview, request and run a transfer, in this process."""
    import django

    django.setup()
    from django.contrib.auth import get_user_model

    from registry_app.actor import SYSTEM, Actor
    from registry_app.models import Owner, Provider, RecordSet, Transfer
    from registry_app.reconcile.sync import sync_provider
    from registry_app.transfer.plan.preview import preview_transfer
    from registry_app.transfer.plan.selection import Selection
    from registry_app.transfer.plan.transfer_request import TransferRequest
    from registry_app.transfer.request_transfer import request_transfer
    from registry_app.transfer.send.run_transfer import run_transfer

    Provider.objects.filter(pk=provider_id).update(
        batch_size=_BATCH,
        max_transfer_count=10_000_000,
        max_transfer_percent=100,
        approval_policy=Provider.ApprovalPolicy.NONE,
    )
    Owner.objects.create(owner_id=_TARGET, status=Owner.Status.REGISTERED)
    sync_provider(provider_id, actor=SYSTEM, trigger="person")
    user = get_user_model().objects.create_superuser("alice")
    alice = Actor(kind="user", name="alice", user_id=user.pk, is_superuser=True)
    asked = TransferRequest(
        kind=Transfer.Kind.TRANSFER,
        selection=Selection(owner_id=_SOURCE),
        target_owner_id=_TARGET,
        target_intent=Transfer.TargetIntent.SAME,
        reason="Measured.",
    )
    moments = [time.perf_counter()]
    seen = {plan.provider.pk: plan.fingerprint for plan in preview_transfer(alice, asked)}
    moments.append(time.perf_counter())
    (transfer,) = request_transfer(alice, replace(asked, fingerprints=seen))
    moments.append(time.perf_counter())
    # A run gives way to others and is picked up again, as by the scheduler.
    until = moments[0] + _PATIENCE
    while transfer.status in (Transfer.Status.APPROVED, Transfer.Status.SENDING, Transfer.Status.SENT):
        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        if time.perf_counter() > until:
            break
    moments.append(time.perf_counter())
    preview, request, run = (round(end - start, 2) for start, end in pairwise(moments))
    said.send(
        {
            "status": str(transfer.status),
            "preview_seconds": preview,
            "request_seconds": request,
            "run_seconds": run,
            "change_sets": transfer.steps.count(),
            "moved": RecordSet.objects.filter(owner__owner_id=_TARGET).count(),
        }
    )


def measure_transfer(count: int) -> None:
    """Print one line of JSON for a transfer of `count` record sets."""
    with tempfile.TemporaryDirectory(prefix="dnsadmin-bench-") as name:
        folder = Path(name)
        os.environ |= {
            "DNSADMIN_STATE_DIR": name,
            "DNSADMIN_ALLOW_LOOPBACK": "1",
            "DJANGO_SETTINGS_MODULE": "dnsadmin.settings",
        }
        seed = folder / "records.json"
        write_body(seed, count, owners=1, unmanaged_every=0)
        command = [sys.executable, "-m", "providers.servers", "memory", "--seed", str(seed)]
        ports = ["--port", "0", "--operations-port", "0"]
        with subprocess.Popen([*command, *ports], stdout=subprocess.PIPE, text=True) as server:
            try:
                ready = json.loads(server.stdout.readline()) if server.stdout else {}
                provider_id = run_apart(prepare, folder, ready["port"])
                before = _count_reads(ready["operations_url"])
                figures = run_apart(measure_transfer_run, provider_id)
                reads = _count_reads(ready["operations_url"]) - before
                floor = reads * _measure_read(ready["url"])
            finally:
                server.terminate()
    _print(count, reads, floor, figures)


def _count_reads(operations_url: str) -> int:
    text = requests.get(f"{operations_url}/metrics", timeout=30).text
    lines = [line for line in text.splitlines() if 'route="records"' in line and 'method="GET"' in line]
    return sum(int(float(line.rsplit(" ", 1)[1])) for line in lines if "_total" in line)


def _measure_read(url: str) -> float:
    started = time.perf_counter()
    with requests.get(f"{url}/records", headers={"Accept": MEDIA_TYPE}, stream=True, timeout=60) as answer:
        msgspec.json.decode(answer.raw.read(), type=tuple[Endpoint, ...])
    return time.perf_counter() - started


def _print(count: int, reads: int, floor: float, figures: dict[str, Any]) -> None:
    line = {"transfer": "everything", "record_sets": count, **figures, "reads": reads}
    line |= {"floor_seconds": round(floor, 2), "ratio": round(figures["run_seconds"] / floor, 1)}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
