"""What a plan costs: 100,000 desired endpoints against 100,000 owned record sets, 1 % of them changed.

The floor is the typed decode of the same bytes: the desired endpoints, and the zone with its claims. Pairing
the zone is part of a sync, and measured there. Bar: 3.0 times the floor.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from bench.floor import measure_decode
from bench.sync import write_body
from providers.planning.claim_changes import build_change_set
from providers.planning.plan import PlanSettings, compute_plan
from providers.registries.claim import DEFAULT_PROFILE
from providers.registries.pairing import pair
from providers.wire.endpoint import Endpoint

_RUNS = 5


def measure_plan(count: int) -> None:
    """Print one line of JSON: the best of five plans, the floor, the ratio."""
    with tempfile.TemporaryDirectory(prefix="dnsadmin-bench-") as name:
        zone, wanted = Path(name) / "zone.json", Path(name) / "wanted.json"
        write_body(zone, count, owners=1, unmanaged_every=0)
        write_body(wanted, count, owners=1, unmanaged_every=1, changed_every=100)
        current = pair(_read(zone), [DEFAULT_PROFILE])
        desired = _read(wanted)
        floor = min(measure_decode(zone) + measure_decode(wanted) for _ in range(_RUNS))
    settings = PlanSettings(owner_id="cluster-0")
    seconds: list[float] = []
    for _ in range(_RUNS):
        started = time.perf_counter()
        planned = compute_plan(desired, current, settings)
        seconds.append(time.perf_counter() - started)
    started = time.perf_counter()
    batch = build_change_set(planned, current, DEFAULT_PROFILE, settings)
    line = {
        "plan": "1 % changed",
        "desired": count,
        "updates": len(batch.change_set.update_new),
        "seconds": round(min(seconds), 3),
        "change_set_seconds": round(time.perf_counter() - started, 3),
        "floor_seconds": round(floor, 3),
        "ratio": round(min(seconds) / floor, 2),
        "bar": 3.0,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _read(path: Path) -> tuple[Endpoint, ...]:
    return msgspec.json.decode(path.read_bytes(), type=tuple[Endpoint, ...])
