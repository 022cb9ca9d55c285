"""`make guard-fleet`: a fleet of instances behind one guard, as their loops come.

SIZE: endpoints of the zone, claims included (60,000). INSTANCES: how many (50). INTERVAL: seconds between two
loops of one (60). MINUTES: how long (5). CHANGED: the share of loops with a change (0.1). VIEWS=1: each
instance has a view of its own. A loop is what ExternalDNS sends: records, all desired endpoints, and the
change. Prints for each call how many there were, and seconds at p50, p99 and the longest; and the most memory
that the guard had.
"""

import math
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from threading import Lock, Thread

from bench.bodies import OWNERS, make_elements, write_body
from bench.guard import Guarded, guarded_server, make_change, post, read
from bench.processes import peak_bytes, product_folder

_FIRST, _LAST_OCTETS = 1, (9, 8)


class _Times:
    """Seconds of calls by their names, and what failed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self.failures: list[str] = []

    def add(self, call: str, seconds: float) -> None:
        with self._lock:
            self._seconds[call].append(seconds)

    def list_lines(self) -> list[str]:
        """One for each call."""
        return [f"{call:<12}{_format(sorted(found))}" for call, found in sorted(self._seconds.items())]


class _Instance(Thread):
    """One ExternalDNS: its loops, each begun an interval after the one before."""

    def __init__(self, number: int, guard: Guarded, record_sets: int, times: _Times) -> None:
        super().__init__(daemon=True)
        self._own = range(number % OWNERS, record_sets, OWNERS)
        self._url = f"{guard.url}/instance-{number}"
        self._times = times
        self._dice = random.Random(number)
        self._target = _FIRST
        self._changed = self._own[number // OWNERS]
        # In Go's order of keys; labels of a source are of no matter here.
        elements = [make_elements(each, _FIRST)[0] for each in self._own]
        self._desired = f"[{','.join(elements)}]".encode()

    def run(self) -> None:
        """Never raises: what fails is noted."""
        interval, share = float(os.environ.get("INTERVAL", "60")), float(os.environ.get("CHANGED", "0.1"))
        until = time.monotonic() + 60 * float(os.environ.get("MINUTES", "5"))
        next_at = time.monotonic() + self._dice.random() * interval
        while next_at < until:
            time.sleep(max(next_at - time.monotonic(), 0))
            next_at += interval
            try:
                self._loop(changes=self._dice.random() < share)
            except Exception as error:  # noqa: BLE001 - the other instances go on
                self._times.failures.append(f"{self._url}: {error}")

    def _loop(self, *, changes: bool) -> None:
        self._times.add("records", read(self._url, "gzip").seconds)
        self._times.add("adjust", post(f"{self._url}/adjustendpoints", self._desired))
        if changes:
            after = _LAST_OCTETS[self._target == _LAST_OCTETS[0]]
            body = make_change(self._changed, self._target, after)
            self._times.add("change", post(f"{self._url}/records", body))
            self._target = after


def main() -> None:
    """Run the fleet, and print what it met."""
    size, instances = int(os.environ.get("SIZE", "60000")), int(os.environ.get("INSTANCES", "50"))
    times = _Times()
    with product_folder() as folder:
        seed = folder / "seed.json"
        write_body(seed, size // 2, unmanaged_every=0)
        has_views = os.environ.get("VIEWS", "") == "1"
        with guarded_server(folder, seed, instances, has_views=has_views) as guard:
            fleet = [_Instance(number, guard, size // 2, times) for number in range(instances)]
            for each in fleet:
                each.start()
            for each in fleet:
                each.join()
            peak = peak_bytes(guard.pid)
    lines = [f"{'call':<12}{'count':>8}{'p50':>10}{'p99':>10}{'longest':>10}", *times.list_lines()]
    lines.append(f"guard: {peak / 2**20:.0f} MiB at most; {len(times.failures)} calls failed")
    sys.stdout.write("\n".join([*lines, *times.failures[:10]]) + "\n")


def _format(seconds: Sequence[float]) -> str:
    shown = (_percentile(seconds, 0.5), _percentile(seconds, 0.99), seconds[-1])
    return f"{len(seconds):>8}" + "".join(f"{each:>8.3f} s" for each in shown)


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


if __name__ == "__main__":
    main()
