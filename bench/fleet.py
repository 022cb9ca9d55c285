"""Whether a second worker helps: 100 providers, 1 % of each changed, synced by one worker and by two.

Where database and providers share the cores with the workers, the figure has no bar.
"""

import os
import time
from multiprocessing.connection import Connection

from bench.bodies import static_server, write_body
from bench.figures import Figure, Report
from bench.processes import prepare, product_folder, run_apart, start_apart

NAMES = ("fleet",)
_PROVIDERS = 100
_EACH = 10_000
# Two workers, the database and the providers, each on a core of its own.
_CORES_FOR_THE_BAR = 4


def work(provider_ids: list[int], result: Connection) -> None:
    """A worker: sync these providers one after the other; sends the seconds it took."""
    import django

    django.setup()
    from registry_app.actor import SYSTEM
    from registry_app.reconcile.sync import sync_provider

    started = time.perf_counter()
    for provider_id in provider_ids:
        run = sync_provider(provider_id, actor=SYSTEM, trigger="person")
        if run is None or run.status != "stored":
            raise RuntimeError(f"a sync ended {run and run.status}")
    result.send(time.perf_counter() - started)


def measure_fleet(report: Report, rounds: int) -> None:
    """Add the figure: how many times as fast two workers are."""
    with product_folder() as folder:
        body = folder / "records.json"
        with static_server(body) as url:
            write_body(body, _EACH)
            ids = run_apart(prepare, folder, [f"{url}/{number}" for number in range(_PROVIDERS)])
            _work_together(ids)
            for number in range(rounds):
                write_body(body, _EACH, changed=range(0, _EACH, 100), last_octet=2 * number + 2)
                alone: float = run_apart(work, ids)
                write_body(body, _EACH, changed=range(0, _EACH, 100), last_octet=2 * number + 3)
                together = _work_together(ids)
                has_cores = len(os.sched_getaffinity(0)) >= _CORES_FOR_THE_BAR
                bar = 1.7 if has_cores else None
                report.add(Figure("fleet", alone, together, bar, at_least=True))


def _work_together(ids: list[int]) -> float:
    """The seconds of two workers, half of the providers each."""
    halves = [start_apart(work, ids[::2]), start_apart(work, ids[1::2])]
    seconds: list[float] = [wait() for wait in halves]
    return max(seconds)
