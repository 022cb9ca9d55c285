"""What a plan costs: 100,000 desired endpoints against 100,000 owned record sets, 1 % of them changed.

The floor is the typed decode of the same bytes: the desired endpoints, and the zone with its claims. Pairing
the zone is part of a sync, and measured there.
"""

import tempfile
import time
from pathlib import Path

import msgspec

from bench.bodies import write_body
from bench.figures import Figure, Report
from bench.floor import measure_decode
from providers.planning.claim_changes import build_change_set
from providers.planning.plan import PlanSettings, compute_plan
from providers.registries.claim import DEFAULT_PROFILE
from providers.registries.pairing import pair
from providers.wire.endpoint import Endpoint

NAMES = ("plan-1pct", "plan-change-set")


def measure_plan(count: int, report: Report, rounds: int) -> None:
    """Add the figures of NAMES, `rounds` times."""
    with tempfile.TemporaryDirectory(prefix="dnsadmin-bench-") as name:
        zone, wanted = Path(name) / "zone.json", Path(name) / "wanted.json"
        write_body(zone, count, owners=1, unmanaged_every=0)
        write_body(wanted, count, owners=1, unmanaged_every=1, changed=range(0, count, 100))
        current = pair(_read(zone), [DEFAULT_PROFILE])
        desired = _read(wanted)
        settings = PlanSettings(owner_id="cluster-0")
        for _ in range(rounds):
            started = time.perf_counter()
            planned = compute_plan(desired, current, settings)
            seconds = time.perf_counter() - started
            started = time.perf_counter()
            build_change_set(planned, current, DEFAULT_PROFILE, settings)
            change_set_seconds = time.perf_counter() - started
            floor = measure_decode(zone) + measure_decode(wanted)
            report.add(Figure("plan-1pct", seconds, floor, 3.0))
            report.add(Figure("plan-change-set", change_set_seconds, floor))


def _read(path: Path) -> tuple[Endpoint, ...]:
    return msgspec.json.decode(path.read_bytes(), type=tuple[Endpoint, ...])
