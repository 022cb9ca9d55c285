"""What was reviewed is what is applied: a request that names no plan waits for somebody who does."""

import pytest

from registry_app.errors import InvalidRequest, StateMoved
from registry_app.models import InstancePolicy, Transfer
from registry_app.transfer.request_transfer import UndoRequest, preview_undo, request_transfer, request_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.registry_app.transfer.world import (
    BLUE,
    approve,
    ask,
    make_alice,
    make_bob,
    open_world,
    register_owner,
    request,
    rewrite,
    undo_reviewed,
)

pytestmark = pytest.mark.django_db(transaction=True)

STATUS = Transfer.Status
TEXT = "undo 10 record sets"


def test_a_request_without_a_fingerprint_waits_whatever_the_policy() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world() as world:
        (blind,) = request_transfer(alice, ask())
        run_transfer(blind.pk)
        blind.refresh_from_db()
        waited = (blind.status, len(world.change_sets()))
        approve(bob, blind)
        run_transfer(blind.pk)

        blind.refresh_from_db()
        assert waited == (STATUS.REQUESTED, 0)
        assert blind.status == STATUS.VERIFIED


def test_a_request_that_names_its_plan_is_applied_as_the_policy_says() -> None:
    with open_world():
        assert request(make_alice(), ask()).status == STATUS.APPROVED


@pytest.mark.deep
def test_an_undo_without_a_fingerprint_waits_too_and_one_with_it_does_not() -> None:
    alice = make_alice()
    with open_world():
        transfer = request(alice, ask())
        run_transfer(transfer.pk)

        blind = request_undo(alice, transfer.public_id, UndoRequest("Back.", TEXT))
        Transfer.objects.filter(pk=blind.pk).update(status=STATUS.CANCELLED)
        blind.items.update(lock_key=None)
        reviewed = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=TEXT)

        assert blind.status == STATUS.REQUESTED
        assert "without the fingerprint of its plan" in blind.status_reason
        assert reviewed.status == STATUS.APPROVED


def test_an_undo_that_is_not_what_was_previewed_is_refused() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        seen = preview_undo(alice, transfer.public_id)
        rewrite(world, "a-app-00000.example.org", "TXT", '"heritage=external-dns,external-dns/owner=red"')
        world.sync()

        with pytest.raises(StateMoved) as refused:
            request_undo(alice, transfer.public_id, UndoRequest("Back.", TEXT, seen.fingerprint))

        assert refused.value.code == "plan_moved"
        assert Transfer.objects.count() == 1


@pytest.mark.deep
@pytest.mark.parametrize(
    ("intent", "verdict", "text"),
    [
        ("same", "no_op", ""),
        ("not_wanted", "delete", TEXT),
        ("other", "retarget", ""),
        ("unknown", "unknown", TEXT),
    ],
)
def test_an_undo_takes_the_stated_intent_of_the_former_owner(intent: str, verdict: str, text: str) -> None:
    alice = make_alice()
    with open_world():
        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        register_owner(BLUE, policy=InstancePolicy.SYNC)

        found = preview_undo(alice, transfer.public_id, target_intent=intent)
        undo = undo_reviewed(
            alice, transfer.public_id, reason="Back.", confirmation=text, target_intent=intent
        )
        run_transfer(undo.pk)

        undo.refresh_from_db()
        assert found.verdict_counts == {verdict: 10}
        assert found.confirmation_text == text
        assert (undo.status, undo.target_intent) == (STATUS.VERIFIED, intent)


@pytest.mark.deep
def test_an_undo_with_an_unknown_intent_is_refused() -> None:
    alice = make_alice()
    with open_world():
        transfer = request(alice, ask())
        run_transfer(transfer.pk)

        with pytest.raises(InvalidRequest):
            preview_undo(alice, transfer.public_id, target_intent="perhaps")
