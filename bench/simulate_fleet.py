"""A fleet of simulated providers, what their syncs cost, and how many workers that needs: values only."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Record sets. With a claim for each it is twice what `Provider.max_items` lets through by default.
_LARGEST = 200_000
_TAIL = 1.5  # of the logarithm of the sizes: a few providers have most of the record sets
_DOWN_SINCE_FAILURES = 10
_HOUR = 3600.0


@dataclass(frozen=True)
class Costs:
    """Seconds. The network is assumed, the rest was measured on a machine of two processors: those for each
    record set by `make bench` (docs/scaling.md has where each comes from)."""

    latency: float = 0.2
    bytes_per_record_set: float = 299.0
    bytes_per_second: float = 12_500_000.0  # 100 Mbit/s
    sync: float = 0.07  # whatever the size: a TLS context (0.044) and 22 statements
    unchanged_record_set: float = 1.5e-6
    changed_record_set: float = 13e-6  # where 1 % of all changed
    deadline: float = 30.0
    task: float = 0.003  # a message taken from the broker
    publish: float = 0.0007  # a message put into the broker
    tick_provider: float = 5e-6  # of all providers, whether due or not
    sweep_provider: float = 45e-6


@dataclass(frozen=True)
class Scenario:
    """What is simulated. Shares are of all providers (down, slow) or of all syncs (changed, failing)."""

    providers: int = 10_000
    record_sets: int = 100_000_000
    interval: int = 300
    minutes: int = 3
    seed: int = 1
    changed_share: float = 0.05
    failing_share: float = 0.01
    down_share: float = 0.01
    slow_share: float = 0.02
    slow_factor: float = 20.0
    costs: Costs = Costs()


@dataclass(frozen=True)
class SimulatedProvider:
    """One provider: its size, how long it takes to begin an answer, and whether it never answers."""

    number: int
    record_sets: int
    latency: float
    is_down: bool

    @property
    def failures(self) -> int:
        """How often it failed before the simulation begins."""
        return _DOWN_SINCE_FAILURES if self.is_down else 0


def build_fleet(scenario: Scenario) -> list[SimulatedProvider]:
    """The same for the same seed."""
    dice = random.Random(scenario.seed)
    sizes = _draw_sizes(dice, scenario.providers, scenario.record_sets)
    down = set(dice.sample(range(len(sizes)), round(scenario.down_share * len(sizes))))
    slow = set(dice.sample(range(len(sizes)), round(scenario.slow_share * len(sizes))))
    latency = scenario.costs.latency
    return [
        SimulatedProvider(
            number, size, latency * (scenario.slow_factor if number in slow else 1), number in down
        )
        for number, size in enumerate(sizes)
    ]


def _draw_sizes(dice: random.Random, count: int, total: int) -> list[int]:
    weights = [dice.lognormvariate(0, _TAIL) for _ in range(count)]
    largest = max(_LARGEST, total // count)
    factor = total / sum(weights)
    for _ in range(20):  # what the largest may not have, the others get
        sizes = [min(largest, factor * weight) for weight in weights]
        factor *= total / sum(sizes)
    whole = [int(size) for size in sizes]
    smallest = min(range(count), key=lambda number: whole[number])
    whole[smallest] += total - sum(whole)
    return whole


def compute_fetch_seconds(provider: SimulatedProvider, costs: Costs) -> float:
    """Until the whole answer is there; the deadline where none comes."""
    if provider.is_down:
        return costs.deadline
    size = provider.record_sets * costs.bytes_per_record_set
    return min(provider.latency + size / costs.bytes_per_second, costs.deadline)


def compute_processing_seconds(provider: SimulatedProvider, costs: Costs, *, is_changed: bool) -> float:
    """What this process does with an answer: compare digests, or decode, compare and store."""
    each = costs.changed_record_set if is_changed else costs.unchanged_record_set
    return costs.sync + provider.record_sets * each


def compute_mean_seconds(provider: SimulatedProvider, scenario: Scenario) -> float:
    """Of a task that syncs it."""
    costs = scenario.costs
    fetch = compute_fetch_seconds(provider, costs) + costs.task
    if provider.is_down:
        return fetch + costs.sync
    changed = compute_processing_seconds(provider, costs, is_changed=True)
    unchanged = compute_processing_seconds(provider, costs, is_changed=False)
    share = scenario.changed_share
    # A failure is an answer that says so: it takes the latency alone.
    answered = fetch + share * changed + (1 - share) * unchanged
    failed = provider.latency + costs.task + costs.sync
    return (1 - scenario.failing_share) * answered + scenario.failing_share * failed


def compute_mean_interval(provider: SimulatedProvider, scenario: Scenario, tick: float) -> float:
    """Between the begins of two syncs: the interval or the backoff, the wait for a tick, and the sync."""
    if provider.is_down:
        planned = max(_HOUR, scenario.interval)
    else:
        # After the n-th failure in a row the interval is doubled n times.
        failing = scenario.failing_share
        planned = scenario.interval * (1 - failing) / (1 - 2 * failing)
    return planned + tick / 2 + compute_mean_seconds(provider, scenario)


def compute_needed_workers(
    fleet: Sequence[SimulatedProvider], scenario: Scenario, schedule: Mapping[str, float]
) -> float:
    """Workers that are busy all the time, if there are enough of them. `schedule`: how often each task of the
    scheduler runs."""
    costs, tick = scenario.costs, schedule["tick"]
    intervals = [compute_mean_interval(each, scenario, tick) for each in fleet]
    seconds = [compute_mean_seconds(each, scenario) + costs.publish for each in fleet]
    syncs = sum(each / interval for each, interval in zip(seconds, intervals, strict=True))
    own = len(fleet) * (costs.tick_provider / tick + costs.sweep_provider / schedule["sweep"])
    return syncs + own + sum(costs.task / every for every in schedule.values())
