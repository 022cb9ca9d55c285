"""Whatever a provider does to the loop: when it stops, all stands as wanted, and nothing else moved."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from providers.backends.memory import ApplyMode
from registry_app.audit import verify_audit
from registry_app.loop.finish_run import finish_loop_run
from registry_app.loop.run_loop import run_loop
from registry_app.models import DeclaredEndpoint, Loop, LoopRun, Owner
from registry_app.queries.kept_count import find_wrong_counts
from registry_app.queries.loop import due_loops, unfinished_loop_runs
from registry_app.queries.write_invariants import LOOP_INVARIANTS
from tests.depth import LOOP_SCHEDULES
from tests.faults import framing_faults, read_faults, write_faults
from tests.faults.fault import Fault
from tests.registry_app.loop.world import (
    BYSTANDERS,
    PARKED,
    declare,
    let_time_pass,
    open_parking,
    owned,
    wanted,
)

pytestmark = pytest.mark.django_db(transaction=True)

WRITES: list[Callable[[], Fault]] = [
    write_faults.error_before_applying,
    write_faults.applied_then_error,
    write_faults.applied_then_reset,
    write_faults.success_with_nothing_applied,
    framing_faults.reset,
]
READS: list[Callable[[], Fault]] = [
    lambda: read_faults.status(503),
    read_faults.empty_list,
    read_faults.shuffled,
    framing_faults.reset,
]
NAMES = [f"app-{number}.example.org" for number in range(6)]
_addresses = st.sampled_from(["192.0.2.1", "192.0.2.2"])
_zones = st.dictionaries(st.sampled_from(NAMES), _addresses, max_size=6)
_wishes = st.dictionaries(st.sampled_from(NAMES), _addresses, min_size=1, max_size=6)
_faults = st.lists(
    st.one_of(
        st.tuples(st.just("POST /records"), st.sampled_from(WRITES), st.integers(0, 2)),
        st.tuples(st.just("GET /records"), st.sampled_from(READS), st.integers(0, 3)),
        st.tuples(st.just("POST /adjustendpoints"), st.sampled_from(READS[:1]), st.integers(0, 1)),
    ),
    max_size=4,
)


@settings(
    max_examples=LOOP_SCHEDULES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    zone=_zones, wish=_wishes, faults=_faults, mode=st.sampled_from(list(ApplyMode)), size=st.integers(1, 3)
)
def test_all_ends_as_wanted_and_nobody_elses_record_sets_moved(
    zone: dict[str, str],
    wish: dict[str, str],
    faults: list[tuple[str, Callable[[], Fault], int]],
    mode: ApplyMode,
    size: int,
) -> None:
    held = [each for name, target in zone.items() for each in owned(name, target)]
    with open_parking(held, mode=mode, batch_size=size, name=_new_name()) as world:
        loop = declare(world, [wanted(name, target) for name, target in wish.items()])
        for route, fault, after in faults:
            world.reference.faults.plan(route, fault(), after=after)

        for _ in range(12):
            _tick()
        world.reference.faults.clear()
        for _ in range(4):
            _tick()

        assert LoopRun.objects.filter(loop=loop).order_by("-pk")[0].status == LoopRun.Status.UNCHANGED
        found = dict(world.zone())
        for each in BYSTANDERS:
            assert found.pop((each.dns_name, each.record_type)) == each
        assert {name: each.targets[0] for (name, kind), each in found.items() if kind == "A"} == wish
        assert {name for name, kind in found if kind == "TXT"} == {f"a-{name}" for name in wish}
        assert [invariant.id for invariant in LOOP_INVARIANTS if invariant.find() is not None] == []
        assert find_wrong_counts() is None
        assert verify_audit() is None
    _forget()


def _tick() -> None:
    let_time_pass()
    for run_id in unfinished_loop_runs():
        finish_loop_run(run_id)
    let_time_pass()
    for loop_id in due_loops():
        run_loop(loop_id)


_numbers = iter(range(1_000_000))


def _new_name() -> str:
    return f"zone-{next(_numbers)}"


def _forget() -> None:
    """Each example has a world of its own; the rows of one are not the next one's."""
    DeclaredEndpoint.objects.all().delete()
    LoopRun.objects.all().delete()
    Loop.objects.all().delete()
    assert Owner.objects.filter(owner_id=PARKED).exists()
