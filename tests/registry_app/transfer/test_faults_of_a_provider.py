"""Every way in which `POST /records` does not do what its answer says, and where the transfer ends."""

from collections import Counter
from collections.abc import Callable

import pytest

from providers.backends.memory import ApplyMode
from providers.wire.change_set import ChangeSet
from registry_app.models import Finding, RegistryProfile, SyncRun, Transfer, TransferItem
from registry_app.transfer.send.run_transfer import run_transfer
from tests.depth import deep_after
from tests.faults import framing_faults, read_faults, write_faults
from tests.faults.fault import Fault
from tests.reference_server import make_zone
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    ask,
    make_alice,
    open_world,
    owners,
    register_owner,
    request,
    rewrite,
)

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]

STATUS = Transfer.Status


def run(transfer: Transfer) -> Transfer:
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    return transfer


@pytest.mark.parametrize(
    ("fault", "status", "moved"),
    deep_after(
        4,
        [
            (write_faults.success_with_nothing_applied, STATUS.FAILED, 0),
            (write_faults.success_with_something_else, STATUS.NEEDS_OPERATOR, 0),
            (write_faults.applied_then_silence, STATUS.VERIFIED, 10),
            (framing_faults.reset, STATUS.FAILED, 0),
            (framing_faults.silence, STATUS.FAILED, 0),
            (write_faults.error_before_applying, STATUS.FAILED, 0),
            (lambda: write_faults.error_before_applying(400), STATUS.FAILED, 0),
            (lambda: read_faults.redirect("/elsewhere"), STATUS.FAILED, 0),
            (write_faults.applied_then_error, STATUS.VERIFIED, 10),
            (write_faults.applied_then_reset, STATUS.VERIFIED, 10),
            (write_faults.delivered_twice, STATUS.VERIFIED, 10),
        ],
    ),
)
def test_only_the_read_back_decides(fault: Callable[[], Fault], status: str, moved: int) -> None:
    alice = make_alice()
    with open_world(deadline_seconds=1) as world:
        transfer = request(alice, ask())
        world.reference.faults.plan("POST /records", fault())

        run(transfer)

        assert transfer.status == status, transfer.status_reason
        assert owners(world)[GREEN] == moved
        assert len(world.change_sets()) == 1
        assert world.reference.faults.played()


@pytest.mark.parametrize("count", deep_after(1, (1, 0, *range(2, 6))))
def test_the_first_few_applied_are_verified_and_the_others_failed(count: int) -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        world.reference.faults.plan("POST /records", write_faults.first_applied(count))

        run(transfer)

        items = Counter(transfer.items.values_list("status", flat=True))
        assert transfer.status == STATUS.FAILED
        assert items[TransferItem.Status.VERIFIED] == owners(world)[GREEN] == count
        assert items[TransferItem.Status.FAILED] == owners(world)[BLUE] == 10 - count


@pytest.mark.parametrize("code", deep_after(1, [204, 503]))
def test_a_change_that_is_applied_late_is_waited_for(code: int) -> None:
    alice = make_alice()
    with open_world(read_back_seconds=10) as world:
        transfer = request(alice, ask())
        world.reference.faults.plan("POST /records", write_faults.applied_late(reads=2, code=code))

        run(transfer)

        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert owners(world) == {GREEN: 10}


def test_a_provider_that_shows_changes_late_is_asked_until_it_does() -> None:
    alice = make_alice()
    with open_world(read_back_seconds=10, reads_until_visible=3) as world:
        transfer = request(alice, ask())

        run(transfer)

        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert len(world.change_sets()) == 1


def test_a_transfer_whose_record_moved_since_the_review_sends_nothing() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        rewrite(world, "app-00004.example.org", "A", "192.0.2.99")

        run(transfer)

        stale = transfer.items.get(name="app-00004.example.org")
        assert transfer.status == STATUS.STALE
        assert "other targets" in stale.status_reason
        assert world.change_sets() == []


def test_a_claim_rewritten_between_plan_and_apply_makes_the_whole_transfer_stale() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        red = '"heritage=external-dns,external-dns/owner=red-cluster"'
        rewrite(world, "a-app-00004.example.org", "TXT", red)

        run(transfer)

        assert transfer.status == STATUS.STALE
        assert "red-cluster" in transfer.status_reason
        assert not transfer.items.filter(lock_key__isnull=False).exists()
        assert owners(world) == {BLUE: 9, "red-cluster": 1}


def test_a_claim_rewritten_between_our_last_read_and_our_request_is_left_to_an_operator() -> None:
    alice = make_alice()
    red = '"heritage=external-dns,external-dns/owner=red-cluster"'
    with open_world() as world:
        transfer = request(alice, ask())
        meanwhile = write_faults.meanwhile(lambda: rewrite(world, "a-app-00004.example.org", "TXT", red))
        world.reference.faults.plan("POST /records", meanwhile)

        run(transfer)

        unclear = transfer.items.get(status=TransferItem.Status.NEEDS_OPERATOR)
        assert transfer.status == STATUS.NEEDS_OPERATOR
        assert unclear.name == "app-00004.example.org"
        assert "red-cluster" in unclear.status_reason
        assert owners(world) == {BLUE: 9, "red-cluster": 1}
        assert Finding.objects.filter(kind="transfer_stuck", state="open").count() == 1


def test_a_record_deleted_by_its_new_owner_is_reported_as_gone() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())

        def delete() -> None:
            zone = world.zone()
            gone = (zone["app-00004.example.org", "A"], zone["a-app-00004.example.org", "TXT"])
            world.reference.backend.apply(ChangeSet(delete=gone))

        # The read-back comes after the review, the reading before the request, and the request.
        world.reference.faults.plan("GET /records", write_faults.meanwhile(delete), after=2)
        run(transfer)

        unclear = transfer.items.get(status=TransferItem.Status.NEEDS_OPERATOR)
        assert transfer.status == STATUS.NEEDS_OPERATOR
        assert "The record set itself is gone" in unclear.status_reason


def test_a_single_bad_record_does_not_hold_up_the_others() -> None:
    alice = make_alice()
    with open_world(mode=ApplyMode.SEQUENTIAL, write_mode="sequential") as world:
        transfer = request(alice, ask())
        world.reference.faults.plan("POST /records", write_faults.error_before_applying(), after=3)

        run(transfer)

        items = Counter(transfer.items.values_list("status", flat=True))
        assert transfer.status == STATUS.FAILED
        assert "9 of 10" in transfer.status_reason
        assert items == {TransferItem.Status.VERIFIED: 9, TransferItem.Status.FAILED: 1}
        assert owners(world) == {GREEN: 9, BLUE: 1}
        assert len(world.change_sets()) == 10


@pytest.mark.deep
def test_a_provider_that_refuses_everything_is_not_asked_for_ever() -> None:
    alice = make_alice()
    with open_world(make_zone(BLUE, 13), batch_size=1) as world:
        transfer = request(alice, ask())
        world.reference.faults.plan("POST /records", write_faults.error_before_applying(), times=None)

        run(transfer)

        assert transfer.status == STATUS.FAILED
        assert len(world.change_sets()) == 10


def test_three_batches_in_a_row_that_change_nothing_end_the_sending() -> None:
    alice = make_alice()
    with open_world(batch_size=2) as world:
        transfer = request(alice, ask())
        world.reference.faults.plan("POST /records", write_faults.error_before_applying(), times=None)

        run(transfer)

        assert transfer.status == STATUS.FAILED
        assert len(world.change_sets()) == 3
        assert transfer.items.filter(status=TransferItem.Status.STALE).count() == 4


@pytest.mark.parametrize("good_reads", deep_after(1, [0, 1, 2]))
def test_an_empty_answer_proves_nothing_and_is_asked_again(good_reads: int) -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="green's", prefix="own-")
    with open_world() as world:
        register_owner(GREEN, registry_profile=profile)
        transfer = request(alice, ask())
        world.reference.faults.plan("GET /records", read_faults.empty_list(), after=good_reads)
        run(transfer)
        assert transfer.status == STATUS.SENDING
        assert "The response is empty; the mirror holds 10 record sets" in transfer.status_reason

        run(transfer)

        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert owners(world) == {GREEN: 10}


def test_a_provider_that_cannot_be_read_is_tried_again_and_then_given_up() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        world.reference.stop()

        for _ in range(5):
            run(transfer)
            assert transfer.status == STATUS.SENDING
            assert transfer.next_attempt_at is not None
        run(transfer)

        assert transfer.status == STATUS.STALE
        assert not transfer.items.filter(lock_key__isnull=False).exists()


def test_a_read_back_that_fails_is_repeated_by_the_next_run() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        world.reference.faults.plan("GET /records", read_faults.status(503), after=2)
        run(transfer)
        assert transfer.status == STATUS.SENDING

        run(transfer)

        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert len(world.change_sets()) == 1


def test_its_last_reading_becomes_the_mirror() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        reads_before = len(world.reference.history.requests("GET /records"))
        run(transfer)

        # The review, what is changed, and what became of it.
        assert len(world.reference.history.requests("GET /records")) - reads_before == 3
        last = SyncRun.objects.filter(provider=world.provider).latest("pk")
        assert (last.trigger, last.status) == (SyncRun.Trigger.TRANSFER, SyncRun.Status.STORED)
        assert world.owner_of("app-00000.example.org") == GREEN
