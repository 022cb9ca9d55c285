"""What real providers do to a change set: whatever they answer, what is read back is what counts."""

import pytest

from providers.backends.memory import ApplyMode
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import encode_endpoints
from registry_app.actor import SYSTEM
from registry_app.loop.finish_run import finish_loop_run
from registry_app.models import HeldSnapshot, LoopRun, LoopStep, SyncRun
from registry_app.queries.loop import unfinished_loop_runs
from registry_app.reconcile.sync import sync_provider
from tests.depth import deep_after
from tests.faults import read_faults, write_faults
from tests.faults.fault import Fault
from tests.reference_server import make_record
from tests.registry_app.loop.world import (
    API,
    WWW,
    let_time_pass,
    names_changed,
    open_parking,
    outcomes,
    owned,
    run,
    wanted,
)
from tests.registry_app.transfer.world import rewrite

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True), pytest.mark.deep]
STATUS = LoopRun.Status
POST = "POST /records"


@pytest.mark.parametrize(
    "fault",
    [
        write_faults.applied_then_error(),
        write_faults.applied_then_error(400),
        write_faults.applied_then_silence(),
        write_faults.applied_then_reset(),
    ],
    ids=lambda fault: fault.name,
)
def test_what_was_applied_is_verified_whatever_was_answered(fault: Fault) -> None:
    with open_parking(deadline_seconds=1) as world:
        world.reference.faults.plan(POST, fault)

        ended = run(world, [wanted(WWW)])

        assert (ended.status, ended.created) == (STATUS.VERIFIED, 1), ended.reason
        assert ended.steps.get().answer != "Provider reported success."
        assert len(world.change_sets()) == 1


@pytest.mark.parametrize(
    "fault",
    [
        write_faults.error_before_applying(),
        write_faults.error_before_applying(400),
        write_faults.success_with_nothing_applied(),
    ],
    ids=lambda fault: fault.name,
)
def test_what_was_not_applied_is_reported_and_planned_again_by_the_next_run(fault: Fault) -> None:
    with open_parking(owned(API, "192.0.2.7")) as world:
        world.reference.faults.plan(POST, fault)

        first = run(world, [wanted(WWW), wanted(API)])
        second = run(world, [wanted(WWW), wanted(API)])

        assert first.status == STATUS.INCOMPLETE
        assert set(outcomes(first).values()) == {"not_shown"}
        assert first.not_as_wanted == 2
        assert (second.status, second.created, second.updated) == (STATUS.VERIFIED, 1, 1)


def test_a_record_set_whose_claim_was_not_made_is_reported_and_never_touched_again() -> None:
    with open_parking() as world:
        world.reference.faults.plan(POST, write_faults.first_applied(1))

        first = run(world, [wanted(WWW)])
        second = run(world, [wanted(WWW, "192.0.2.2")])

        (item,) = first.steps.get().items
        assert item["outcome"] == "other"
        assert "it has no owner" in item["reason"]
        assert second.status == STATUS.UNCHANGED
        assert "nobody owns it" in second.left_alone[0]["reason"]


def test_something_else_than_was_sent_is_reported() -> None:
    with open_parking() as world:
        world.reference.faults.plan(POST, write_faults.success_with_something_else())

        ended = run(world, [wanted(WWW)])

        assert ended.status == STATUS.INCOMPLETE
        assert set(outcomes(ended).values()) == {"other"}


def test_a_slow_provider_is_waited_for() -> None:
    with open_parking(read_back_seconds=20, reads_until_visible=2) as world:
        ended = run(world, [wanted(WWW)])

        assert ended.status == STATUS.VERIFIED, ended.reason


def test_what_changes_between_two_batches_is_planned_again() -> None:
    with open_parking(owned(WWW, "192.0.2.7"), batch_size=1) as world:
        world.reference.faults.plan(
            POST, write_faults.meanwhile(lambda: rewrite(world, WWW, "A", "192.0.2.50"))
        )

        ended = run(world, [wanted(API), wanted(WWW, "192.0.2.8")])

        assert ended.status == STATUS.VERIFIED, ended.reason
        updates = [each for change_set in world.change_sets() for each in change_set.update_old]
        assert [each.targets for each in updates] == [("192.0.2.50",)]


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_one_bad_record_set_ends_alone_where_each_goes_by_itself(mode: ApplyMode) -> None:
    with open_parking(mode=mode, write_mode="value_exact") as world:
        world.reference.faults.plan(POST, write_faults.error_before_applying(), after=1)

        ended = run(world, [wanted(f"app-{number}.example.org") for number in range(3)])

        assert ended.status == STATUS.INCOMPLETE
        assert (ended.created, ended.not_as_wanted) == (2, 1)
        assert [len(names_changed(each)) for each in world.change_sets()] == [2, 2, 2]


def test_a_provider_that_refuses_everything_is_not_asked_for_ever() -> None:
    with open_parking(batch_size=1) as world:
        world.reference.faults.plan(POST, write_faults.error_before_applying(), times=None)

        ended = run(world, [wanted(f"app-{number}.example.org") for number in range(30)])

        assert len(world.change_sets()) == 10
        assert "10 requests in a row changed nothing" in ended.reason


def test_what_cannot_be_read_back_stays_open_and_is_finished_by_looking() -> None:
    with open_parking() as world:
        world.reference.faults.plan("GET /records", read_faults.status(500), after=1)

        waiting = run(world, [wanted(WWW)])
        let_time_pass()
        found = unfinished_loop_runs()
        finish_loop_run(waiting.pk)

        assert (waiting.status, found) == (STATUS.RUNNING, [waiting.pk])
        ended = LoopRun.objects.get()
        assert (ended.status, ended.created) == (STATUS.INCOMPLETE, 1)
        assert ended.steps.get().status == LoopStep.Status.VERIFIED
        assert len(world.change_sets()) == 1


def test_a_run_that_finds_another_unfinished_finishes_that_first() -> None:
    with open_parking() as world:
        world.reference.faults.plan("GET /records", read_faults.status(500), after=1)
        waiting = run(world, [wanted(WWW)])

        ended = run(world, [wanted(WWW)])

        waiting.refresh_from_db()
        assert (waiting.status, waiting.created) == (STATUS.INCOMPLETE, 1)
        assert ended.status == STATUS.UNCHANGED
        assert len(world.change_sets()) == 1


@pytest.mark.parametrize("route", ["GET /", "GET /records", "POST /adjustendpoints"])
@pytest.mark.parametrize("code", [400, 500])
def test_a_provider_that_cannot_be_asked_is_sent_nothing(route: str, code: int) -> None:
    with open_parking() as world:
        world.reference.faults.plan(route, read_faults.status(code))

        ended = run(world, [wanted(WWW)])

        assert ended.status == STATUS.FAILED
        assert str(code) in ended.reason
        assert world.change_sets() == []


def _is_text(endpoint: Endpoint) -> bool:
    return endpoint.record_type == "TXT"


@pytest.mark.parametrize("count", deep_after(1, [12, 3]))
@pytest.mark.parametrize(
    "fault",
    [
        read_faults.without(lambda each: not _is_text(each), name="texts only"),
        read_faults.without(_is_text, name="no claims"),
        read_faults.without(lambda each: each.dns_name != "beside.example.net", name="one left"),
        read_faults.empty_list(),
    ],
    ids=lambda fault: fault.name,
)
def test_a_response_that_a_sync_holds_plans_nothing(fault: Fault, count: int) -> None:
    names = [f"app-{number}.example.org" for number in range(count)]
    with open_parking([each for name in names for each in owned(name)]) as world:
        world.reference.faults.plan("GET /records", fault, times=None)

        ended = run(world, [wanted(name) for name in names])
        sync_provider(world.provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.PERSON)

        assert ended.status == STATUS.FAILED
        assert "is implausible" in ended.reason
        assert world.change_sets() == []
        assert HeldSnapshot.objects.count() == 1


_EXTRA = b'[{"dnsName":"extra.example.org","recordType":"A","targets":["192.0.2.99"]}]'


@pytest.mark.parametrize("answer", [b"[]", b"null", _EXTRA])
def test_an_adjustment_neither_adds_nor_takes_away(answer: bytes) -> None:
    with open_parking([*owned(WWW, "192.0.2.7"), make_record("other.example.org")]) as world:
        before = world.reference.zone_bytes()
        world.reference.faults.plan("POST /adjustendpoints", read_faults.body(answer))

        ended = run(world, [wanted(WWW, "192.0.2.8"), wanted(API)])

        assert ended.status == STATUS.UNCHANGED
        assert world.reference.zone_bytes() == before
        reason = "The provider removed it when it adjusted the desired endpoints."
        assert [(each["name"], each["reason"]) for each in ended.left_alone] == [(API, reason), (WWW, reason)]


def test_a_name_at_which_something_cannot_be_read_is_left_alone() -> None:
    poisoned = b',{"dnsName":"www.example.org","recordType":"A","targets":["\\u0000"]}]'
    with open_parking(owned(API, "192.0.2.7")) as world:
        shown = encode_endpoints(world.reference.endpoints())
        world.reference.faults.plan("GET /records", read_faults.body(shown[:-1] + poisoned))

        ended = run(world, [wanted(WWW), wanted(API, "192.0.2.7")])

        assert ended.status == STATUS.UNCHANGED, ended.reason
        assert [(each["name"], each["reason"]) for each in ended.left_alone] == [
            (WWW, "A record at its name could not be read this time.")
        ]
