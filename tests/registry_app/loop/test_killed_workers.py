"""A worker killed with -9 at every named point: the next tick finishes by looking, never by sending again."""

import pytest

from registry_app.audit import verify_audit
from registry_app.loop.finish_run import finish_loop_run
from registry_app.loop.run_loop import run_loop
from registry_app.models import Loop, LoopRun, LoopStep, Provider
from registry_app.queries.loop import due_loops, unfinished_loop_runs
from tests.registry_app.loop.world import (
    API,
    BYSTANDERS,
    OLD,
    WWW,
    declare,
    let_time_pass,
    open_parking,
    owned,
    wanted,
)
from tests.registry_app.transfer.forking import Forks
from tests.registry_app.transfer.world import World

pytestmark = pytest.mark.django_db(transaction=True)

STATUS = LoopRun.Status
# Nothing had left by then: the run that died sent nothing, and the next one does it all.
BEFORE_SENDING = ["loop.begun", "loop.planned", "loop.stored"]
# All had left by then: the run is finished with what is read back.
AFTER_SENDING = ["loop.sent", "loop.answered", "loop.read_back", "loop.settled"]
POINTS = {*BEFORE_SENDING, *AFTER_SENDING, "loop.marked", "loop.called_off", "loop.ended"}
ZONE = [*owned(WWW, "192.0.2.7"), *owned(OLD)]
DESIRED = [wanted(WWW, "192.0.2.8"), wanted(API)]


def tick() -> None:
    """What the scheduler finds once the dead worker's lease is over, and then once the loop is due again."""
    let_time_pass()
    for run_id in unfinished_loop_runs():
        finish_loop_run(run_id)
    let_time_pass()
    for loop_id in due_loops():
        run_loop(loop_id)


def raise_if_not_as_declared(world: World) -> None:
    zone = world.zone()
    assert zone[WWW, "A"].targets == ("192.0.2.8",)
    assert (API, "A") in zone
    assert (OLD, "A") not in zone
    assert len(zone) == len(BYSTANDERS) + 4


@pytest.mark.parametrize("crash_at", BEFORE_SENDING)
def test_killed_before_anything_was_sent_the_next_run_does_it_all(forks: Forks, crash_at: str) -> None:
    with open_parking(ZONE) as world:
        loop = declare(world, DESIRED)

        assert forks.act("run_loop", loop.pk, crash_at=crash_at).was_killed
        sent_by_the_dead = world.change_sets()
        tick()

        assert sent_by_the_dead == []
        assert list(loop.runs.order_by("pk").values_list("status", flat=True)) == [
            STATUS.FAILED,
            STATUS.VERIFIED,
        ]
        assert len(world.change_sets()) == 1
        raise_if_not_as_declared(world)
        assert verify_audit() is None


@pytest.mark.parametrize("crash_at", AFTER_SENDING)
def test_killed_after_it_was_sent_it_is_finished_by_looking(forks: Forks, crash_at: str) -> None:
    with open_parking(ZONE) as world:
        loop = declare(world, DESIRED)

        assert forks.act("run_loop", loop.pk, crash_at=crash_at).was_killed
        tick()

        assert len(world.change_sets()) == 1
        first, second = loop.runs.order_by("pk")
        assert (first.status, first.created, first.updated, first.deleted) == (STATUS.INCOMPLETE, 1, 1, 1)
        assert first.steps.get().status == LoopStep.Status.VERIFIED
        assert second.status == STATUS.UNCHANGED
        raise_if_not_as_declared(world)
        assert verify_audit() is None


def test_what_was_marked_may_have_been_sent_so_it_is_read_and_planned_anew(forks: Forks) -> None:
    with open_parking(ZONE) as world:
        loop = declare(world, DESIRED)

        assert forks.act("run_loop", loop.pk, crash_at="loop.marked").was_killed
        tick()

        first, second = loop.runs.order_by("pk")
        assert first.status == STATUS.INCOMPLETE
        assert {item["outcome"] for item in first.steps.get().items} == {"not_shown"}
        assert second.status == STATUS.VERIFIED
        raise_if_not_as_declared(world)


def test_killed_while_it_calls_off_what_another_stored(forks: Forks) -> None:
    with open_parking(ZONE) as world:
        loop = declare(world, DESIRED)

        assert forks.act("run_loop", loop.pk, crash_at="loop.stored").was_killed
        let_time_pass()
        dead = LoopRun.objects.get()
        assert forks.act("finish_loop_run", dead.pk, crash_at="loop.called_off").was_killed
        tick()

        dead.refresh_from_db()
        assert dead.status == STATUS.FAILED
        assert dead.steps.get().status == LoopStep.Status.NOT_SENT
        assert len(world.change_sets()) == 1
        raise_if_not_as_declared(world)


def test_killed_right_after_the_end_nothing_is_left_to_do(forks: Forks) -> None:
    with open_parking(ZONE) as world:
        loop = declare(world, DESIRED)

        assert forks.act("run_loop", loop.pk, crash_at="loop.ended").was_killed
        left = unfinished_loop_runs()

        assert left == []
        assert loop.runs.get().status == STATUS.VERIFIED
        assert Loop.objects.get(pk=loop.pk).next_run_at is not None
        raise_if_not_as_declared(world)


@pytest.mark.deep
def test_a_run_that_cannot_be_read_back_waits_and_is_not_tried_for_ever(forks: Forks) -> None:
    with open_parking(ZONE) as world:
        loop = declare(world, DESIRED)
        assert forks.act("run_loop", loop.pk, crash_at="loop.sent").was_killed
        Loop.objects.update(is_enabled=False)

        world.reference.stop()
        for _ in range(6):
            tick()
        waiting = loop.runs.get()
        tick()
        world.reference.start()

        ended = loop.runs.get()
        assert (waiting.status, ended.status) == (STATUS.RUNNING, STATUS.INCOMPLETE)
        assert "could not be read back" in ended.reason
        assert ended.steps.get().status == LoopStep.Status.UNSEEN


@pytest.mark.deep
def test_what_was_sent_to_another_address_is_not_read_at_this_one(forks: Forks) -> None:
    with open_parking(ZONE) as world, open_parking(ZONE, name="another-zone") as other:
        loop = declare(world, DESIRED)
        assert forks.act("run_loop", loop.pk, crash_at="loop.sent").was_killed

        Provider.objects.filter(pk=world.provider.pk).update(url=other.provider.url)
        tick()

        first = loop.runs.order_by("pk")[0]
        assert first.status == STATUS.INCOMPLETE
        assert "another address" in first.reason
        assert first.steps.get().status == LoopStep.Status.UNSEEN
