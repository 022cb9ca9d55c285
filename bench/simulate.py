"""`make simulate`: the product's scheduling code with simulated providers, workers and clocks.

Settings are environment variables. PROVIDERS (10,000) with 10,000 record sets each on average, WORKERS
("16 24 32 64"), INTERVAL of a sync in seconds (300), MINUTES that are measured after one of warm-up (3),
SEED (1), CHANGED: the share of syncs that find 1 % of the record sets changed (0.05). DATABASE_URL: a
PostgreSQL database that may be emptied, in place of fresh SQLite files. MIGRATED: a migrated SQLite file
that is copied: migrating one takes longer than a small simulation. RESULTS: where the file goes
(bench/simulation.json).
"""

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from bench.processes import product_folder, run_apart, start_apart
from bench.simulate_fleet import Scenario, build_fleet, compute_needed_workers
from bench.simulate_run import Result, prepare, simulate

RESULTS = Path(os.environ.get("RESULTS", Path(__file__).with_name("simulation.json")))
_RECORD_SETS_EACH = 10_000
_TARGET = 0.7
_WIDTHS = (9, 8, 12, 10, 8, 8, 8, 12, 8, 8, 8, 9, 13, 10, 10)


def main() -> None:
    """Simulate each number of workers, print a line for each, and write bench/simulation.json."""
    scenario = read_scenario()
    counts = [int(each) for each in os.environ.get("WORKERS", "16 24 32 64").split()]
    needed = compute_needed_workers(build_fleet(scenario), scenario, _fetch_schedule())
    database = os.environ.get("DATABASE_URL", "sqlite").partition(":")[0]
    sys.stdout.write(
        f"{scenario.providers:,} providers, {scenario.record_sets:,} record sets, a sync every "
        f"{scenario.interval} s, {scenario.minutes} simulated minutes, {database}\n"
        f"Calculated: {needed:.1f} workers are always busy; {needed / _TARGET:.0f} workers for a share of "
        f"{_TARGET:.0%}.\n{format_header()}\n"
    )
    results: list[Result] = []
    for result in run_all(counts, scenario, at_once=1 if database != "sqlite" else _count_processors()):
        results.append(result)
        sys.stdout.write(format_line(result, needed) + "\n")
        sys.stdout.flush()
    _write(scenario, needed, database, results)


def read_scenario() -> Scenario:
    """As the environment says."""
    given = Scenario()
    providers = int(os.environ.get("PROVIDERS", given.providers))
    return Scenario(
        providers=providers,
        record_sets=providers * _RECORD_SETS_EACH,
        interval=int(os.environ.get("INTERVAL", given.interval)),
        minutes=int(os.environ.get("MINUTES", given.minutes)),
        seed=int(os.environ.get("SEED", given.seed)),
        changed_share=float(os.environ.get("CHANGED", given.changed_share)),
    )


def run_all(counts: Sequence[int], scenario: Scenario, *, at_once: int) -> Iterator[Result]:
    """One simulation for each number of workers, in this order, each in a fresh copy of one folder."""
    with product_folder() as prepared:
        if migrated := os.environ.get("MIGRATED"):
            shutil.copyfile(migrated, prepared / "dnsadmin.sqlite3")
        run_apart(prepare, prepared)
        for begin in range(0, len(counts), at_once):
            with ExitStack() as folders:
                waits = []
                for count in counts[begin : begin + at_once]:
                    folder = folders.enter_context(product_folder())
                    shutil.copytree(prepared, folder, dirs_exist_ok=True)
                    waits.append(start_apart(simulate, count, scenario, folder))
                yield from [wait() for wait in waits]


def format_header() -> str:
    """The names of the columns. Lags in seconds, the queue in messages; `late`: providers that are an
    interval late at the end."""
    lag = ("lag p50", "p95", "p99", "max")
    rates = ("syncs/s", "statements/s", "writes/s")
    return _join(
        "workers", "busy", "calculated", *lag, "queue p50", "max", "missed", "late", *rates, "lost leases"
    )


def format_line(result: Result, needed: float) -> str:
    """The texts of the columns."""
    return _join(
        str(result.workers),
        f"{result.busy:.1%}",
        f"{min(1.0, needed / result.workers):.1%}",
        *(f"{result.lag.get(each, 0):.1f}" for each in ("median", "p95", "p99", "max")),
        *(f"{result.queue.get(each, 0):.0f}" for each in ("median", "max")),
        str(result.missed_intervals),
        str(result.late_at_end),
        *(f"{result.rates[each]:.1f}" for each in ("syncs", "statements", "writes")),
        str(result.leases_lost),
    )


def _join(*texts: str) -> str:
    return "".join(text.ljust(width) for text, width in zip(texts, _WIDTHS, strict=True)).rstrip()


def _count_processors() -> int:
    return len(os.sched_getaffinity(0))


def _fetch_schedule() -> dict[str, float]:
    from dnsadmin.celery import BEAT_SCHEDULE

    return {name: float(entry["schedule"]) for name, entry in BEAT_SCHEDULE.items()}


def _write(scenario: Scenario, needed: float, database: str, results: Sequence[Result]) -> None:
    document = {
        "simulated_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "database": database,
        "python": platform.python_version(),
        "cpus": _count_processors(),
        "scenario": asdict(scenario),
        "needed_workers": round(needed, 2),
        "results": [asdict(each) for each in results],
    }
    RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
