"""How many random examples, schedules of faults and kills the tests try: every such number, for each depth.

DNSADMIN_TEST_DEPTH chooses among DEPTHS. To hunt for a failure or to repeat one, DNSADMIN_TEST_EXAMPLES sets
one number for everything that is selected, and DNSADMIN_TEST_SEED the seed (a failure prints it).
"""

import os
import random
from collections.abc import Iterable
from typing import Any

import pytest

# What `make test`, `make test-services`, `.ci/run` for its `make test-deep`, `make test-deep` by itself and
# `make test-deep DEPTH=full` use.
DEPTHS = ("quick", "services", "commit", "deep", "full")
DEPTH = os.environ.get("DNSADMIN_TEST_DEPTH", "quick")
if DEPTH not in DEPTHS:
    raise ValueError(f"DNSADMIN_TEST_DEPTH is {DEPTH!r}, which is none of {', '.join(DEPTHS)}.")
_NUMBER = int(os.environ.get("DNSADMIN_TEST_EXAMPLES", "0"))
# The same examples each time, so that a change is never blamed for what chance found.
IS_REPEATABLE = DEPTH in ("quick", "services", "commit") or "CI" in os.environ
SEED = int(os.environ.get("DNSADMIN_TEST_SEED", "0")) or (
    1 if IS_REPEATABLE else random.SystemRandom().randrange(1, 2**32)
)
# The processes of a parallel run inherit it: all of them must name the same tests.
os.environ["DNSADMIN_TEST_SEED"] = str(SEED)


def _choose(*numbers: int) -> int:
    """One number for each of DEPTHS."""
    return _NUMBER or dict(zip(DEPTHS, numbers, strict=True))[DEPTH]


def examples(deep: int) -> int:
    """How many examples a property test tries that tries `deep` of them in `make test-deep`."""
    few = min(deep, max(10, deep // 100))
    return _choose(few, few, min(deep, max(10, deep // 8)), deep, 10 * deep)


# Schedules of faults, each of up to 200 operations.
TRANSFER_SCHEDULES = _choose(4, 20, 20, 128, 5_000)
TRANSFER_SCHEDULES_ACROSS_REGISTRIES = _choose(4, 4, 5, 50, 1_000)
SYNC_SCHEDULES = _choose(3, 10, 12, 100, 5_000)
STORE_SCHEDULES = _choose(3, 9, 10, 60, 3_000)
LOOP_SCHEDULES = _choose(2, 5, 6, 40, 2_000)
PARTIAL_SYNCS = _choose(5, 5, 12, 60, 2_000)
PARTIAL_READINGS = _choose(3, 6, 15, 100, 5_000)
# Workers killed at random moments.
KILLS = _choose(10, 10, 12, 50, 2_000)
# Requests for each operation of the API.
REQUESTS = _choose(1, 2, 5, 50, 1_000)


def deep_after(count: int, rows: Iterable[Any]) -> list[Any]:
    """The rows of a parametrized test, those after the first `count` for `make test-deep` alone."""
    return [row if number < count else _mark(row) for number, row in enumerate(rows)]


def _mark(row: Any) -> Any:
    return pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.deep)
