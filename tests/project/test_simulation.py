"""`make simulate`: its fleet, its time, and whether what it sees agrees with what is calculated."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from bench.simulate_fleet import Costs, Scenario, build_fleet, compute_needed_workers
from bench.simulate_queue import Broker
from bench.simulate_timeline import Process, Timeline
from dnsadmin.env import STATE_DIR
from tests.migrated_database import copy_migrated_database

pytestmark = pytest.mark.one_database
_SCHEDULE = {"tick": 3.0, "sweep": 15.0}


def test_a_fleet_has_as_many_record_sets_as_it_is_said_to_have() -> None:
    scenario = Scenario(providers=1_000, record_sets=10_000_000)

    sizes = [each.record_sets for each in build_fleet(scenario)]

    assert sum(sizes) == 10_000_000
    assert min(sizes) >= 0
    assert sorted(sizes)[500] < 10_000 < max(sizes)


def test_twice_the_providers_need_twice_the_workers() -> None:
    small = Scenario(providers=2_000, record_sets=20_000_000)
    large = Scenario(providers=4_000, record_sets=40_000_000)

    needed = [compute_needed_workers(build_fleet(each), each, _SCHEDULE) for each in (small, large)]

    assert needed[1] / needed[0] == pytest.approx(2, rel=0.1)


def test_processes_take_turns_in_the_order_of_simulated_time() -> None:
    timeline = Timeline()
    seen: list[tuple[str, float]] = []

    def work(name: str, seconds: float, process: Process) -> None:
        assert timeline.current is process
        for _ in range(2):
            timeline.sleep(seconds)
            seen.append((name, timeline.now))

    for name, seconds in (("slow", 5.0), ("quick", 2.0)):
        timeline.call_at(0, Process(timeline, partial(work, name, seconds)).resume)
    timeline.run_until(60)

    assert seen == [("quick", 2.0), ("quick", 4.0), ("slow", 5.0), ("slow", 10.0)]


def test_a_task_without_arguments_is_sent_as_celery_sends_it() -> None:
    timeline = Timeline()
    broker = Broker(timeline, Costs())

    send = partial(broker.send_task, "tasks.index", None, None, expires=60.0)
    timeline.call_at(0, Process(timeline, lambda _: send()).resume)
    timeline.run_until(1)

    assert [message.arguments for message in broker.messages] == [()]


def test_what_a_process_raises_ends_the_simulation() -> None:
    timeline = Timeline()

    def fail(_: Process) -> None:
        raise LookupError("no such task")

    timeline.call_at(0, Process(timeline, fail).resume)

    with pytest.raises(LookupError):
        timeline.run_until(1)


@pytest.mark.deep
def test_workers_are_as_busy_as_calculated(tmp_path: Path) -> None:
    results = tmp_path / "simulation.json"
    copy_migrated_database(STATE_DIR, tmp_path / "migrated.sqlite3")
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment["MIGRATED"] = str(tmp_path / "migrated.sqlite3")
    chosen = {"PROVIDERS": "60", "WORKERS": "2", "INTERVAL": "60", "MINUTES": "3", "CHANGED": "0"}

    subprocess.run(
        [sys.executable, "-m", "bench.simulate"],
        env={**environment, **chosen, "RESULTS": str(results)},
        check=True,
        timeout=500,
    )

    document = json.loads(results.read_text(encoding="utf-8"))
    (result,) = document["results"]
    assert result["busy"] == pytest.approx(document["needed_workers"] / 2, rel=0.1)
    assert set(result["runs"]) <= {"unchanged", "failed", "running"}
    assert result["missed_intervals"] == 0
    assert result["lag"]["median"] < 4
