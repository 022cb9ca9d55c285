"""The broker, the scheduler and the workers on simulated time, with the rules of Celery on Redis.

A message waits in order, whatever its task; one whose time to expire has come is dropped when a worker takes
it. A worker has one message at a time (late acknowledgement, a prefetch multiplier of 1).
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.simulate_fleet import Costs
from bench.simulate_timeline import Process, Timeline


@dataclass(frozen=True)
class Message:
    """A task to run, unless a worker comes to it too late."""

    name: str
    arguments: Sequence[int]
    expires_at: float


class Broker:
    """A queue of messages and the workers that wait for one."""

    def __init__(self, timeline: Timeline, costs: Costs) -> None:
        self.messages: deque[Message] = deque()
        self.counts: Counter[str] = Counter()
        self._timeline = timeline
        self._costs = costs
        self._idle: deque[Process] = deque()

    def publish(self, name: str, arguments: Sequence[int] = (), expires: float = float("inf")) -> None:
        """Append a message, and wake a worker."""
        self.messages.append(Message(name, arguments, self._timeline.now + expires))
        self.counts["published"] += 1
        if self._idle:
            self._timeline.call_at(self._timeline.now, self._idle.popleft().resume)

    def send_task(
        self, name: str, args: Sequence[int] | None, kwargs: Mapping[str, Any] | None, **options: Any
    ) -> None:
        """What Celery's `send_task` does, from a task; it is given None where there are no arguments."""
        if kwargs:
            raise ValueError("tasks take ids only")
        self._timeline.sleep(self._costs.publish)
        self.publish(name, args or (), options["expires"])

    def take(self, worker: Process) -> Message:
        """The next message that has not expired, as soon as there is one."""
        while True:
            while self.messages:
                message = self.messages.popleft()
                if message.expires_at > self._timeline.now:
                    return message
                self.counts[f"expired {message.name.rpartition('.')[2]}"] += 1
            self._idle.append(worker)
            worker.pause()


class Workers:
    """Worker processes, each with one task at a time."""

    def __init__(
        self,
        count: int,
        timeline: Timeline,
        broker: Broker,
        run: Callable[[Message], None],
        begin: Callable[[], None],
    ) -> None:
        """`begin` is called in the thread of each."""
        self._timeline, self._broker, self._run, self._begin = timeline, broker, run, begin
        self._busy_since: dict[Process, float] = {}
        self._busy_seconds = 0.0
        for _ in range(count):
            timeline.call_at(0, Process(timeline, self._work).resume)

    def busy_seconds(self) -> float:
        """Of all workers until now."""
        return self._busy_seconds + sum(self._timeline.now - since for since in self._busy_since.values())

    def _work(self, worker: Process) -> None:
        self._begin()
        while True:
            message = self._broker.take(worker)
            self._busy_since[worker] = self._timeline.now
            self._run(message)
            self._busy_seconds += self._timeline.now - self._busy_since.pop(worker)


def start_schedule(
    schedule: Mapping[str, Mapping[str, Any]], timeline: Timeline, broker: Broker, until: float
) -> None:
    """Publish each entry of a Celery schedule at its times."""
    for entry in schedule.values():
        publish = partial(broker.publish, entry["task"], (), entry["options"]["expires"])
        timeline.repeat(entry["schedule"], publish, until)
