"""An undo writes only where the provider still shows what the original wrote (I9)."""

import pytest

from providers.wire.change_set import ChangeSet
from registry_app.errors import RefusedBySafety, StateMoved
from registry_app.models import Provider, Transfer
from registry_app.transfer.decisions import cancel_transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.faults import read_faults, write_faults
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.forking import Forks
from tests.registry_app.transfer.test_killed_workers import resume
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    approve,
    ask,
    make_alice,
    make_bob,
    open_world,
    owners,
    plan,
    register_owner,
    request,
    rewrite,
    undo_reviewed,
)

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "undo 10 record sets"
NINE = "undo 9 record sets"


def test_it_does_not_overwrite_what_somebody_wrote_since() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        undo = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=TEXT)
        red = '"heritage=external-dns,external-dns/owner=red-cluster"'
        rewrite(world, "a-app-00004.example.org", "TXT", red)

        run_transfer(undo.pk)

        undo.refresh_from_db()
        transfer.refresh_from_db()
        assert undo.status == Transfer.Status.STALE
        assert transfer.status == Transfer.Status.VERIFIED
        assert owners(world) == {GREEN: 9, "red-cluster": 1}


def test_what_somebody_wrote_since_is_left_out_and_the_others_are_given_back() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        red = '"heritage=external-dns,external-dns/owner=red-cluster"'
        rewrite(world, "a-app-00004.example.org", "TXT", red)
        world.sync()

        found = preview_undo(alice, transfer.public_id)
        undo = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=NINE)
        run_transfer(undo.pk)

        undo.refresh_from_db()
        transfer.refresh_from_db()
        assert [(item.name, item.problem_code) for item in found.left_out] == [
            ("app-00004.example.org", "changed_since")
        ]
        assert undo.status == Transfer.Status.VERIFIED, undo.status_reason
        assert owners(world) == {BLUE: 9, "red-cluster": 1}
        assert transfer.status == Transfer.Status.VERIFIED


@pytest.mark.deep
def test_a_mirror_from_before_the_transfer_prevents_no_undo(forks: Forks) -> None:
    alice = make_alice()
    with open_world() as world:
        before = world.reference.zone_bytes()
        transfer = request(alice, ask())
        # Its worker died, the sync at its end failed in the next one, and the mirror is what it was.
        assert forks.act("run", transfer.pk, crash_at="transfer.closed").was_killed
        world.reference.faults.plan("GET /records", read_faults.status(503))
        resume(transfer)
        Provider.objects.update(status=Provider.Status.OK)
        assert world.owner_of("app-00004.example.org") == BLUE

        undo = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=TEXT)
        run_transfer(undo.pk)

        undo.refresh_from_db()
        assert undo.status == Transfer.Status.VERIFIED, undo.status_reason
        assert world.reference.zone_bytes() == before


@pytest.mark.deep
def test_it_needs_the_same_approval() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person") as world:
        transfer = approve(bob, request(alice, ask()))
        run_transfer(transfer.pk)

        undo = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=TEXT)
        run_transfer(undo.pk)
        assert owners(world) == {GREEN: 10}
        approve(bob, undo)
        run_transfer(undo.pk)

        assert owners(world) == {BLUE: 10}


@pytest.mark.deep
def test_the_former_owner_may_delete_what_it_no_longer_wants_and_the_undo_says_so() -> None:
    alice = make_alice()
    with open_world():
        register_owner(BLUE, policy="sync")
        transfer = request(alice, ask())
        run_transfer(transfer.pk)

        plan = preview_undo(alice, transfer.public_id)
        with pytest.raises(RefusedBySafety) as refused:
            undo_reviewed(alice, transfer.public_id, reason="Back.")

        assert plan.verdict_counts == {"unknown": 10}
        assert refused.value.code == "confirmation_needed"


@pytest.mark.deep
def test_an_undo_can_be_undone() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        moved = world.reference.zone_bytes()
        undo = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=TEXT)
        run_transfer(undo.pk)

        again = undo_reviewed(alice, undo.public_id, reason="Forth.", confirmation=TEXT)
        run_transfer(again.pk)

        assert world.reference.zone_bytes() == moved


def test_what_a_transfer_that_failed_did_write_is_given_back_and_it_is_rolled_back() -> None:
    alice = make_alice()
    with open_world(batch_size=5) as world:
        before = world.reference.zone_bytes()
        transfer = request(alice, ask())
        world.reference.faults.plan("POST /records", write_faults.error_before_applying(), after=1)
        run_transfer(transfer.pk)
        assert owners(world) == {GREEN: 5, BLUE: 5}

        text = preview_undo(alice, transfer.public_id).confirmation_text
        undo = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=text)
        run_transfer(undo.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.ROLLED_BACK
        # People see the number, programs know the id.
        assert transfer.status_reason == f"Undone by transfer #{undo.pk} ({undo.public_id})."
        assert world.reference.zone_bytes() == before


@pytest.mark.deep
def test_an_undo_that_came_half_way_is_asked_for_again_and_does_the_rest() -> None:
    alice = make_alice()
    with open_world(batch_size=5) as world:
        before = world.reference.zone_bytes()
        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        first = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=TEXT)
        world.reference.faults.plan("POST /records", write_faults.error_before_applying(), after=1)
        run_transfer(first.pk)
        half, half_way = owners(world), Transfer.objects.get(pk=transfer.pk).status

        text = preview_undo(alice, transfer.public_id).confirmation_text
        rest = undo_reviewed(alice, transfer.public_id, reason="The rest.", confirmation=text)
        run_transfer(rest.pk)

        rest.refresh_from_db()
        transfer.refresh_from_db()
        assert (half, half_way) == ({BLUE: 5, GREEN: 5}, Transfer.Status.VERIFIED)
        assert text == "undo 5 record sets"
        assert rest.status == Transfer.Status.VERIFIED, rest.status_reason
        assert world.reference.zone_bytes() == before
        assert transfer.status == Transfer.Status.ROLLED_BACK


@pytest.mark.deep
def test_what_an_undo_had_to_leave_out_is_not_called_rolled_back() -> None:
    alice, bob = make_alice(), make_bob()
    one = Selection(names=("app-00003.example.org",))
    with open_world() as world:
        before = world.reference.zone_bytes()
        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        Provider.objects.update(approval_policy="other_person")
        elsewhere = request(alice, ask("release", selection=one))
        undo = approve(bob, undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=NINE))
        run_transfer(undo.pk)
        cancel_transfer(alice, elsewhere.public_id, reason="It was a mistake.")
        transfer.refresh_from_db()
        left_over = transfer.status

        text = preview_undo(alice, transfer.public_id).confirmation_text
        rest = undo_reviewed(alice, transfer.public_id, reason="The rest.", confirmation=text)
        run_transfer(approve(bob, rest).pk)

        transfer.refresh_from_db()
        assert left_over == Transfer.Status.VERIFIED
        assert transfer.status == Transfer.Status.ROLLED_BACK
        assert world.reference.zone_bytes() == before


@pytest.mark.deep
def test_a_record_set_that_is_gone_since_is_not_given_back() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        mine = [each for (name, _), each in world.zone().items() if name.endswith("app-00003.example.org")]
        world.reference.backend.apply(ChangeSet(delete=tuple(mine)))
        world.sync()

        plan = preview_undo(alice, transfer.public_id)

        assert [(item.name, item.problem_code) for item in plan.left_out] == [
            ("app-00003.example.org", "missing")
        ]
        assert len(plan.included) == 9


def test_what_was_never_sent_cannot_be_undone() -> None:
    alice = make_alice()
    with open_world(approval_policy="other_person"):
        transfer = request(alice, ask())

        with pytest.raises(StateMoved):
            preview_undo(alice, transfer.public_id)


@pytest.mark.deep
def test_it_is_asked_for_once_at_a_time() -> None:
    alice = make_alice()
    with open_world(approval_policy="other_person", batch_size=1):
        transfer = approve(make_bob(), request(alice, ask()))
        run_transfer(transfer.pk)
        undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=TEXT)

        with pytest.raises(RefusedBySafety) as refused:
            undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=TEXT)

        assert refused.value.code == "nothing_to_undo"
        assert "open transfer" in refused.value.happened


@pytest.mark.deep
def test_a_settled_conflict_is_given_back_though_the_targets_own_claim_never_changed() -> None:
    alice = make_alice()
    name = "www.example.org"
    own = make_record(name, "TXT", (f'"heritage=external-dns,external-dns/owner={GREEN}"',))
    with open_world([make_record(name), make_claim(name), own]) as world:
        before = world.reference.zone_bytes()
        asked = Selection(names=(name,), record_types=("A",))
        text = plan(alice, ask(selection=asked)).confirmation_text
        transfer = request(alice, ask(selection=asked, confirmation=text))
        run_transfer(transfer.pk)
        assert world.owner_of(name) == GREEN

        text = preview_undo(alice, transfer.public_id).confirmation_text
        undo = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=text)
        run_transfer(undo.pk)

        undo.refresh_from_db()
        assert undo.status == Transfer.Status.VERIFIED, undo.status_reason
        assert world.reference.zone_bytes() == before
