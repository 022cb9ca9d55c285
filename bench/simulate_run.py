"""One simulation: a number of workers, for a warm-up and the minutes that are measured."""

import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from bench.simulate_fleet import Scenario, build_fleet
from bench.simulate_queue import Broker, Message, Workers, start_schedule
from bench.simulate_timeline import Timeline

# The due times are spread as after a long while, so the workers only have to begin.
WARM_UP = 60.0
_SAMPLE_SECONDS = 1.0
_SYNC = "run_sync"


@dataclass(frozen=True)
class Result:
    """Of the minutes that were measured, in simulated seconds. `lag` is from due to begun, `queue` in
    messages, `rates` in a second, `processors` what syncs keep busy beside the network, `real` the
    milliseconds of this machine's processor for one task of each kind, without what is simulated."""

    workers: int
    busy: float
    lag: Mapping[str, float]
    queue: Mapping[str, float]
    missed_intervals: int
    late_at_end: int
    rates: Mapping[str, float]
    processors: float
    counts: Mapping[str, int]
    runs: Mapping[str, int]
    real: Mapping[str, Mapping[str, float]]
    elapsed: float

    @property
    def leases_lost(self) -> int:
        """Syncs whose lease was taken by another, or whose worker was given up."""
        return self.runs.get("abandoned", 0)


def prepare(folder: Path, answer: Connection) -> None:
    """In a process of its own: a migrated, empty database; sends nothing of interest."""
    _set_up(folder)
    answer.send(None)


def simulate(workers: int, scenario: Scenario, folder: Path, answer: Connection) -> None:
    """In a process of its own, with a folder that was prepared; sends a Result."""
    _set_up(folder)
    answer.send(_Simulation(workers, scenario).run())


def _set_up(folder: Path) -> None:
    import django

    from dnsadmin.prepare import prepare_state

    prepare_state(folder)
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("flush", verbosity=0, interactive=False)


class _Simulation:
    """The parts, and what is seen of them. Begins with an empty database."""

    def __init__(self, workers: int, scenario: Scenario) -> None:
        # Django has to be set up before.
        from bench import simulate_product as product

        self._product, self._scenario, self._count = product, scenario, workers
        self._timeline = Timeline()
        self._broker = Broker(self._timeline, scenario.costs)
        self._fleet = build_fleet(scenario)
        self._providers = product.Providers(self._fleet, scenario, self._timeline)
        self._queue: list[int] = []
        self._real: dict[str, list[float]] = {}

    def run(self) -> Result:
        """Warm up, measure, read what is left."""
        started = time.perf_counter()
        self._product.store_fleet(self._fleet, self._scenario)
        self._providers.read_due()
        self._statements = self._product.install(self._timeline, self._providers, self._broker.send_task)
        with self._product.shared_connection() as use_connection:
            workers = self._start(use_connection)
            self._timeline.run_until(WARM_UP)
            before, busy = self._count_all(), workers.busy_seconds()
            self._queue.clear()
            self._providers.lags.clear()
            self._real.clear()
            self._timeline.run_until(self._end)
        counts = self._count_all() - before
        share = (workers.busy_seconds() - busy) / (self._count * self._measured)
        return self._build_result(share, counts, time.perf_counter() - started)

    @property
    def _measured(self) -> float:
        return self._scenario.minutes * 60.0

    @property
    def _end(self) -> float:
        return WARM_UP + self._measured

    def _start(self, use_connection: Callable[[], None]) -> Workers:
        from dnsadmin.celery import BEAT_SCHEDULE

        workers = Workers(self._count, self._timeline, self._broker, self._run_task, use_connection)
        start_schedule(BEAT_SCHEDULE, self._timeline, self._broker, self._end)
        self._timeline.repeat(
            _SAMPLE_SECONDS, lambda: self._queue.append(len(self._broker.messages)), self._end
        )
        return workers

    def _run_task(self, message: Message) -> None:
        """What a worker does with a message, and the time it takes beside that of a provider."""
        kind, costs = message.name.rpartition(".")[2], self._scenario.costs
        if kind == "tick":
            self._timeline.sleep(self._scenario.providers * costs.tick_provider)
        started = time.thread_time()
        self._product.run_task(message)
        self._real.setdefault(kind, []).append(1000 * (time.thread_time() - started))
        self._broker.counts[f"ran {kind}"] += 1
        sweep = self._scenario.providers * costs.sweep_provider if kind == "sweep" else 0
        self._timeline.sleep(costs.task + sweep)
        if kind == _SYNC:
            self._providers.read_due(message.arguments[0])

    def _count_all(self) -> Counter[str]:
        return self._broker.counts + self._statements.counts + self._providers.counts

    def _build_result(self, share: float, counts: Counter[str], elapsed: float) -> Result:
        lags, interval = self._providers.lags, self._scenario.interval
        waiting = [self._end - due for due in self._providers.due.values() if due < self._end]
        names = ("syncs", "statements", "writes", "published", "changed_record_sets")
        return Result(
            workers=self._count,
            busy=share,
            lag=_describe(lags),
            queue=_describe(self._queue),
            missed_intervals=sum(int(lag // interval) for lag in (*lags, *waiting)),
            late_at_end=sum(lag > interval for lag in waiting),
            rates={name: counts[name] / self._measured for name in names},
            processors=counts["processing_microseconds"] / 1e6 / self._measured,
            counts=dict(sorted(counts.items())),
            runs=self._product.count_runs(),
            real={kind: _describe(seen) for kind, seen in self._real.items()},
            elapsed=elapsed,
        )


def _describe(values: Sequence[float]) -> dict[str, float]:
    """Median, percentiles and the largest; nothing of nothing."""
    if not values:
        return {}
    ordered = sorted(values)
    last = len(ordered) - 1
    found = {"median": statistics.median(ordered), "mean": statistics.fmean(ordered), "max": ordered[-1]}
    return found | {f"p{percent}": ordered[round(last * percent / 100)] for percent in (95, 99)}
