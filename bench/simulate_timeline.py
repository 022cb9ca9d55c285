"""Simulated time. What takes time runs in threads, of which exactly one runs at any moment."""

import heapq
import itertools
import threading
from collections.abc import Callable
from functools import partial


class Timeline:
    """Seconds since the simulation began, and what happens when."""

    def __init__(self) -> None:
        self.now = 0.0
        self.current: Process | None = None
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def call_at(self, at: float, call: Callable[[], None]) -> None:
        """Two calls at one time run in the order in which they were asked for."""
        heapq.heappush(self._events, (at, next(self._numbers), call))

    def repeat(self, every: float, call: Callable[[], None], until: float) -> None:
        """Call now, and again and again."""
        call()
        if self.now + every <= until:
            self.call_at(self.now + every, partial(self.repeat, every, call, until))

    def run_until(self, end: float) -> None:
        """Everything that happens before `end`. Raises what a process raised."""
        while self._events and self._events[0][0] < end:
            self.now, _, call = heapq.heappop(self._events)
            call()
        self.now = end

    def sleep(self, seconds: float) -> None:
        """In a process: let that time pass."""
        process = self.current
        if process is None:
            raise RuntimeError("Only a process can sleep.")
        self.call_at(self.now + seconds, process.resume)
        process.pause()


class Process:
    """A thread that runs while `resume` waits for it, until it pauses. It begins with the first `resume`."""

    def __init__(self, timeline: Timeline, target: Callable[["Process"], None]) -> None:
        self._timeline = timeline
        self._target = target
        self._turn = threading.Semaphore(0)
        self._paused = threading.Semaphore(0)
        self._error: BaseException | None = None
        # A simulation ends in the middle of everything.
        threading.Thread(target=self._run, daemon=True).start()

    def resume(self) -> None:
        """Run it until it pauses. Raises what it raises."""
        self._timeline.current = self
        self._turn.release()
        self._paused.acquire()
        self._timeline.current = None
        if self._error is not None:
            raise self._error

    def pause(self) -> None:
        """In the process: wait for the next `resume`."""
        self._paused.release()
        self._turn.acquire()

    def _run(self) -> None:
        self._turn.acquire()
        try:
            self._target(self)
        except BaseException as error:  # noqa: BLE001 - it is raised again, where the simulation runs
            self._error = error
        self._paused.release()
