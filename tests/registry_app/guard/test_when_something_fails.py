"""What becomes of a change set when something fails: the table "When something fails" of docs/guard.md."""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest
import time_machine

from providers.wire.change_set import ChangeSet
from providers.wire.json_codec import encode_change_set
from registry_app.clock import fetch_now
from registry_app.models import GuardEndpoint, GuardStep, Provider
from registry_app.reconcile.lease import release_lease, take_lease
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.faults import framing_faults, read_faults, write_faults
from tests.faults.fault import Fault
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.guard.serving import Guarded, guarded, serve_guard
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]
ENFORCE = GuardEndpoint.Mode.ENFORCE
STATUS = GuardStep.Status
NEW = (make_record("new.example.org"), make_claim("new.example.org"))
ZONE = make_zone("blue-cluster", 5)


def _has_new(guard: Guarded) -> bool:
    return any(each.dns_name == "new.example.org" for each in guard.reference.backend.records())


@pytest.mark.parametrize(
    ("fault", "status", "has_new", "step"),
    [
        (write_faults.error_before_applying(), 503, False, STATUS.INCOMPLETE),
        (write_faults.error_before_applying(400), 503, False, STATUS.INCOMPLETE),
        # What is read back counts, not what was said.
        (write_faults.applied_then_error(), 204, True, STATUS.VERIFIED),
        (write_faults.applied_then_reset(), 204, True, STATUS.VERIFIED),
        (write_faults.delivered_twice(), 204, True, STATUS.VERIFIED),
        (write_faults.applied_late(reads=2), 204, True, STATUS.VERIFIED),
        (framing_faults.closed(), 503, False, STATUS.INCOMPLETE),
    ],
    ids=lambda each: each.name if isinstance(each, Fault) else None,
)
def test_a_provider_that_fails_while_it_is_written_to(
    tmp_path: Path, fault: Fault, status: int, has_new: bool, step: str
) -> None:
    with guarded(tmp_path, ZONE, mode=ENFORCE) as guard:
        guard.reference.faults.plan("POST /records", fault)
        answer = guard.apply(create=NEW)

        assert (answer.status_code, _has_new(guard)) == (status, has_new)
        assert GuardStep.objects.get().status == step
        again = guard.apply(create=NEW)
        assert (again.status_code, _has_new(guard)) == (204, True)


def test_a_provider_that_says_yes_and_does_nothing_is_seen_and_the_instance_asks_again(
    tmp_path: Path,
) -> None:
    with guarded(tmp_path, ZONE, mode=ENFORCE, deadline_seconds=3) as guard:
        guard.reference.faults.plan("POST /records", write_faults.success_with_nothing_applied())
        answer = guard.apply(create=NEW)
        status = GuardStep.objects.get().status
        again = guard.apply(create=NEW)

        assert (answer.status_code, status) == (204, STATUS.INCOMPLETE)
        assert (again.status_code, _has_new(guard)) == (204, True)


@pytest.mark.parametrize(
    "fault",
    [read_faults.empty_list(), read_faults.status(500), framing_faults.truncated(40), read_faults.null()],
    ids=lambda each: each.name,
)
def test_nothing_is_sent_on_a_response_that_cannot_be_trusted(tmp_path: Path, fault: Fault) -> None:
    with guarded(tmp_path, make_zone("blue-cluster", 20), mode=ENFORCE) as guard:
        before = guard.reference.zone_bytes()
        guard.reference.faults.plan("GET /records", fault, times=None)
        answer = guard.apply(create=NEW)

        assert answer.status_code == 503
        assert guard.reference.zone_bytes() == before
    assert not GuardStep.objects.exists()


def test_a_change_set_waits_for_a_transfer_and_is_put_off_where_that_takes_too_long(tmp_path: Path) -> None:
    with guarded(tmp_path, ZONE, mode=ENFORCE, deadline_seconds=2) as guard:
        lease = take_lease(guard.endpoint.provider_id, "transfer 12")
        assert lease is not None
        during = guard.apply(create=NEW)
        release_lease(lease)
        after = guard.apply(create=NEW)

        assert (during.status_code, after.status_code) == (503, 204)
        assert _has_new(guard)
    assert GuardStep.objects.count() == 1


def _split(changes: ChangeSet) -> list[ChangeSet]:
    return [
        *(ChangeSet(create=(each,)) for each in changes.create),
        ChangeSet(update_old=changes.update_old, update_new=changes.update_new),
    ]


@pytest.mark.parametrize(
    "arrange",
    [lambda each: [each, each], lambda each: [*_split(each)[::-1][:1], each, each]],
    ids=["repeated", "a part first"],
)
def test_a_request_that_comes_again_or_in_parts_does_no_harm(
    tmp_path: Path, arrange: Callable[[ChangeSet], list[ChangeSet]]
) -> None:
    old, claim = make_record(), make_claim()
    changes = ChangeSet(
        create=NEW,
        update_old=(old, claim),
        update_new=(make_record(targets=("192.0.2.9",)), claim),
    )
    with guarded(tmp_path, [old, claim], mode=ENFORCE) as guard:
        answers = [guard.post("/records", encode_change_set(each)).status_code for each in arrange(changes)]
        found = {each.dns_name: each.targets for each in guard.reference.backend.records()}

    assert set(answers) == {204}
    assert found["www.example.org"] == ("192.0.2.9",)
    assert len(found) == 4


def test_two_replicas_answer_as_one(tmp_path: Path) -> None:
    with guarded(tmp_path, ZONE, mode=ENFORCE) as guard, serve_guard(tmp_path / "other.json") as other:
        desired = [each for each in ZONE if each.record_type != "TXT"]
        outcomes = []
        for number in range(4):
            url = [guard.guard_url, other][number % 2]
            desired = [*desired, make_record(f"new-{number}.example.org")]
            with Instance(Settings(f"{url}/blue", "blue-cluster"), desired) as instance:
                outcomes += [instance.run_once().outcome, instance.run_once().outcome]
        names = {each.dns_name for each in guard.reference.backend.records()}

    assert outcomes == [Outcome.CHANGED, Outcome.QUIET] * 4
    assert {f"new-{number}.example.org" for number in range(4)} <= names


def test_a_guard_whose_clock_is_off_sends_nothing(tmp_path: Path) -> None:
    with guarded(tmp_path, ZONE, mode=ENFORCE) as guard:
        with time_machine.travel(fetch_now() + timedelta(minutes=5), tick=True):
            off = guard.apply(create=NEW)
        right = guard.apply(create=NEW)

        assert (off.status_code, right.status_code) == (503, 204)
        assert "clock" in off.text
    assert GuardStep.objects.count() == 1


def test_an_instance_ends_while_the_guard_is_down_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    desired = [each for each in ZONE if each.record_type != "TXT"]
    with guarded(tmp_path, ZONE, mode=ENFORCE) as guard, ExitStack() as stack:
        other = stack.enter_context(serve_guard(tmp_path / "other.json"))
        with Instance(Settings(f"{other}/blue", "blue-cluster"), desired) as instance:
            before, zone = instance.run_once().outcome, guard.reference.zone_bytes()
            stack.close()
            down = instance.run_once().outcome
        with Instance(Settings(guard.url, "blue-cluster"), desired) as restarted:
            back = restarted.run_once().outcome

        assert guard.reference.zone_bytes() == zone
    assert (before, down, back) == (Outcome.QUIET, Outcome.DEAD, Outcome.QUIET)


def test_what_a_provider_did_after_the_deadline_is_found_by_the_next_request_and_not_sent_again(
    tmp_path: Path,
) -> None:
    go_on = Event()

    def wait() -> None:
        go_on.wait(30)

    with guarded(tmp_path, ZONE, mode=ENFORCE, deadline_seconds=1) as guard:
        guard.reference.faults.plan("POST /records", write_faults.meanwhile(wait))
        late = guard.apply(create=NEW)
        GuardEndpoint.objects.update(deadline_seconds=20)
        go_on.set()
        wait_until(lambda: _has_new(guard), "the late change")
        again = guard.apply(create=NEW)

        assert (late.status_code, again.status_code) == (503, 204)
        assert _has_new(guard)
        assert len(guard.reference.history.requests("POST /records")) == 1


def test_nothing_is_sent_for_an_instance_before_a_restored_database_was_accepted(tmp_path: Path) -> None:
    with guarded(tmp_path, ZONE, mode=ENFORCE) as guard:
        Provider.objects.update(restored_at=fetch_now())
        refused = guard.apply(create=NEW)
        read = guard.get("/records").status_code
        sent = list(guard.reference.history.requests("POST /records"))
        Provider.objects.update(restored_at=None)
        accepted = guard.apply(create=NEW)

        assert (refused.status_code, read, sent) == (503, 200, [])
        assert "The database was restored" in refused.text
        assert (accepted.status_code, _has_new(guard)) == (204, True)
