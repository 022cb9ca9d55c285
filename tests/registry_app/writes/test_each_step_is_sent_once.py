"""The invariants of the write engine, shown with its smallest user: a request is stored before it is sent,
sent at most once, and settled by what the provider shows (I5, I6)."""

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from django.utils import timezone

from providers.http.errors import ProviderError
from providers.wire.change_set import ChangeSet
from providers.wire.json_codec import encode_change_set
from registry_app.errors import LeaseLost
from registry_app.models import UNSETTLED, LoopRun, LoopStep, Owner, Provider
from registry_app.writes.session import leased_provider, open_session
from registry_app.writes.step import send_step, store_step
from tests.depth import deep_after
from tests.faults import framing_faults, read_faults, write_faults
from tests.faults.fault import Fault
from tests.reference_server import make_record
from tests.registry_app.transfer.forking import Forks
from tests.registry_app.transfer.world import BLUE, World, open_world
from tests.registry_app.writes.passing_on import PassOnSession, finish, open_run, pass_on

pytestmark = pytest.mark.django_db(transaction=True)

STATUS = LoopStep.Status
NEW = "new.example.org"
FAULTS: dict[str, tuple[Callable[[], Fault], str]] = {
    "refused": (write_faults.error_before_applying, STATUS.INCOMPLETE),
    "applied, then an error": (write_faults.applied_then_error, STATUS.VERIFIED),
    "applied, then silence": (write_faults.applied_then_silence, STATUS.VERIFIED),
    "applied, then a reset": (write_faults.applied_then_reset, STATUS.VERIFIED),
    "success, and nothing applied": (write_faults.success_with_nothing_applied, STATUS.INCOMPLETE),
    "delivered twice": (write_faults.delivered_twice, STATUS.VERIFIED),
    "something else applied": (write_faults.success_with_something_else, STATUS.INCOMPLETE),
}
SENT_BY_THEN = {
    "loop.stored": (False, STATUS.NOT_SENT),
    # Between its mark and its first byte nobody can tell whether a step was sent.
    "loop.marked": (False, STATUS.INCOMPLETE),
    "loop.sent": (True, STATUS.VERIFIED),
    "loop.answered": (True, STATUS.VERIFIED),
    "loop.read_back": (True, STATUS.VERIFIED),
    "loop.settled": (True, STATUS.VERIFIED),
}


def _body(name: str = NEW) -> str:
    return encode_change_set(ChangeSet(create=(make_record(name),)), capitalized_keys=False).decode()


def _run(world: World) -> LoopRun:
    return open_run(world.provider, Owner.objects.get(owner_id=BLUE))


def _let_lease_pass() -> None:
    Provider.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("name", FAULTS)
def test_a_step_is_settled_by_what_is_shown_and_never_sent_again(name: str) -> None:
    fault, status = FAULTS[name]
    with open_world() as world:
        run = _run(world)
        world.reference.faults.plan("POST /records", fault())

        pass_on(run.pk, _body())
        finish(run.pk)

        assert run.steps.get().status == status
        assert len(world.change_sets()) == 1


@pytest.mark.parametrize("status", [*UNSETTLED, STATUS.VERIFIED, STATUS.INCOMPLETE, STATUS.NOT_SENT])
def test_a_step_that_was_marked_before_is_refused_and_not_sent(status: str) -> None:
    with open_world() as world:
        run = _run(world)
        with (
            leased_provider(world.provider.pk, "a proxy") as leased,
            open_session(leased, PassOnSession) as session,
        ):
            step = store_step(session, _body().encode(), lambda: LoopStep(run=run, ordinal=1))
            run.steps.update(status=status)

            with pytest.raises(LeaseLost):
                send_step(session, step)

        assert world.change_sets() == []
        assert run.steps.get().status == status


def test_a_step_that_cannot_be_read_back_stays_open_until_it_can() -> None:
    with open_world() as world:
        run = _run(world)
        world.reference.faults.plan("GET /records", read_faults.status(500), times=2)

        pass_on(run.pk, _body())
        before = run.steps.get().status
        with pytest.raises(ProviderError):
            finish(run.pk)
        finish(run.pk)

        assert before == STATUS.ANSWERED
        assert run.steps.get().status == STATUS.VERIFIED
        assert len(world.change_sets()) == 1


# The tests of loops kill a worker at the same points.
@pytest.mark.deep
@pytest.mark.parametrize("crash_at", SENT_BY_THEN)
def test_a_killed_worker_is_resumed_by_reading_alone(forks: Forks, crash_at: str) -> None:
    was_sent, status = SENT_BY_THEN[crash_at]
    with open_world() as world:
        run = _run(world)

        assert forks.act("pass_on", run.pk, _body(), crash_at=crash_at).was_killed
        _let_lease_pass()
        finish(run.pk)

        assert run.steps.get().status == status
        assert len(world.change_sets()) == was_sent


@pytest.mark.deep
def test_a_worker_killed_while_it_calls_a_step_off_leaves_it_called_off(forks: Forks) -> None:
    with open_world() as world:
        run = _run(world)

        assert forks.act("pass_on", run.pk, _body(), crash_at="loop.stored").was_killed
        _let_lease_pass()
        assert forks.act("finish_passing_on", run.pk, crash_at="loop.called_off").was_killed
        _let_lease_pass()
        finish(run.pk)

        assert run.steps.get().status == STATUS.NOT_SENT
        assert world.change_sets() == []


@pytest.mark.parametrize("seed", deep_after(1, (2, 0, 1, 3)))
def test_whatever_goes_wrong_in_whatever_order_each_step_is_sent_once_and_settled(seed: int) -> None:
    dice = random.Random(seed)
    reads = (lambda: read_faults.status(500), framing_faults.reset, read_faults.deep_nesting)
    with open_world() as world:
        run = _run(world)
        for number in range(12):
            if dice.random() < 0.6:
                world.reference.faults.plan("POST /records", dice.choice(list(FAULTS.values()))[0]())
            if dice.random() < 0.3:
                world.reference.faults.plan("GET /records", dice.choice(reads)())
            pass_on(run.pk, _body(f"new-{number}.example.org"))
            if dice.random() < 0.5:
                with suppress(ProviderError, ValueError):
                    finish(run.pk)
        for _ in range(12):
            with suppress(ProviderError, ValueError):
                finish(run.pk)

        steps = list(run.steps.order_by("ordinal"))
        sent = [each.create[0].dns_name for each in world.change_sets()]
        shown = {name for name, _ in world.zone()}
        assert sorted(sent) == sorted(set(sent))
        assert {step.status for step in steps} <= {STATUS.VERIFIED, STATUS.INCOMPLETE, STATUS.NOT_SENT}
        for step, number in zip(steps, range(12), strict=True):
            assert (f"new-{number}.example.org" in sent) is (step.status != STATUS.NOT_SENT)
            if step.status == STATUS.VERIFIED:
                assert f"new-{number}.example.org" in shown
