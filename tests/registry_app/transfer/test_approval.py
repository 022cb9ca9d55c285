"""Who may let a transfer go, and that the plan they saw is the plan that goes."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from registry_app.actor import SYSTEM, Actor
from registry_app.errors import DnsadminError, InvalidRequest, NotAllowed, RefusedBySafety, StateMoved
from registry_app.models import AuditEntry, Freeze, Grant, Transfer
from registry_app.queries.transfer import allowed_actions, due_transfers
from registry_app.transfer.decisions import approve_transfer, cancel_transfer, reject_transfer
from registry_app.transfer.periodic_checks import expire_transfers
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_administrator
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    approve,
    ask,
    make_actor,
    make_alice,
    make_bob,
    make_person,
    open_world,
    plan,
    register_owner,
    request,
    request_reviewed,
)

pytestmark = pytest.mark.django_db(transaction=True)

STATUS = Transfer.Status


def side_by_side(acts: list[Callable[[], object]]) -> list[object]:
    """Each act in a thread of its own, begun together; what it returned, or the error it ended in."""
    results: list[object] = [None] * len(acts)
    start = threading.Barrier(len(acts))

    def act(place: int) -> None:
        start.wait()
        try:
            results[place] = acts[place]()
        except DnsadminError as error:
            results[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=act, args=(place,)) for place in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_the_requester_does_not_approve_not_even_as_an_administrator() -> None:
    root = make_actor(make_administrator())
    with open_world(approval_policy="other_person"):
        transfer = request(root, ask())

        with pytest.raises(NotAllowed) as refused:
            approve(root, transfer)

        transfer.refresh_from_db()
        assert refused.value.code == "other_person_needed"
        assert transfer.status == STATUS.REQUESTED
        assert "approve" not in [each.action for each in allowed_actions(root, transfer)]


@pytest.mark.parametrize("side", ["requester", "approver"])
def test_if_another_person_is_required_an_unknown_one_does_not_count(side: str) -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person"):
        transfer = request(SYSTEM if side == "requester" else alice, ask())

        with pytest.raises(NotAllowed) as refused:
            approve(SYSTEM if side == "approver" else bob, transfer)

        transfer.refresh_from_db()
        assert refused.value.code == "other_person_needed"
        assert transfer.status == STATUS.REQUESTED


def test_nothing_is_sent_before_somebody_else_approved() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person") as world:
        transfer = request(alice, ask())
        run_transfer(transfer.pk)
        assert world.reference.history.requests() == ()
        assert due_transfers() == []

        approve(bob, transfer)
        assert due_transfers() == [transfer.pk]
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED
        assert transfer.approved_by_name == "bob"


def test_only_one_of_two_approvers_wins() -> None:
    alice, bob = make_alice(), make_bob()
    carol = make_person("carol", Grant.Action.APPROVE)
    with open_world(approval_policy="other_person"):
        transfer = request(alice, ask())

        results = side_by_side([lambda: approve(bob, transfer), lambda: approve(carol, transfer)])

        assert sorted(type(each).__name__ for each in results) == ["StateMoved", "Transfer"]
        assert AuditEntry.objects.filter(action="transfer.approved").count() == 1


def test_only_one_of_two_clicks_makes_a_transfer() -> None:
    alice = make_alice()
    with open_world():
        asked = ask()

        results = side_by_side([lambda: request(alice, asked), lambda: request(alice, asked)])

        assert Transfer.objects.count() == 1
        assert sum(isinstance(each, Transfer) for each in results) == 1
        (loser,) = (each for each in results if not isinstance(each, Transfer))
        assert isinstance(loser, StateMoved | RefusedBySafety)


def test_two_workers_send_it_once() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())

        side_by_side([lambda: run_transfer(transfer.pk) for _ in range(4)])

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED
        assert len(world.change_sets()) == 1


def test_an_approval_is_bound_to_what_was_seen() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person"):
        transfer = request(alice, ask())

        with pytest.raises(StateMoved):
            approve_transfer(bob, transfer.public_id, fingerprint="another plan")

        transfer.items.filter(ordinal=0).update(after=[])
        with pytest.raises(StateMoved):
            approve(bob, transfer)
        transfer.refresh_from_db()
        assert transfer.status == STATUS.REQUESTED


def test_a_plan_edited_after_its_approval_never_sends_a_byte() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        item = transfer.items.get(ordinal=0)
        item.after[0]["targets"] = ['"heritage=external-dns,external-dns/owner=red-cluster"']
        item.save()

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.STALE
        assert world.reference.history.requests() == ()


def test_a_preview_that_moved_is_refused_and_says_so() -> None:
    alice = make_alice()
    with open_world() as world:
        seen = plan(alice, ask())
        world.provider.record_sets.filter(name="app-00000.example.org").update(ttl=301)

        with pytest.raises(StateMoved) as refused:
            request_reviewed(alice, ask(fingerprints={world.provider.pk: seen.fingerprint}))

        assert refused.value.code == "plan_moved"
        assert not Transfer.objects.exists()


def test_a_freeze_holds_up_approval_and_sending_and_warns_at_the_request() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person") as world:
        freeze = Freeze.objects.create(reason="change stop", starts_at=timezone.now(), created_by="alice")
        assert [each.code for each in plan(alice, ask()).warnings] == ["frozen"]
        transfer = request(alice, ask())
        with pytest.raises(RefusedBySafety) as refused:
            approve(bob, transfer)
        freeze.delete()
        approve(bob, transfer)
        freeze.pk = None
        freeze.provider = world.provider
        freeze.save()

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert refused.value.code == "frozen"
        assert transfer.status == STATUS.APPROVED
        assert "change stop" in transfer.status_reason
        assert world.reference.history.requests() == ()


def test_a_freeze_in_the_middle_stops_before_the_next_batch_and_says_how_far_it_came() -> None:
    from tests.faults import write_faults

    alice = make_alice()
    with open_world(batch_size=4) as world:
        transfer = request(alice, ask())
        begin = write_faults.meanwhile(_freeze_everything)
        world.reference.faults.plan("POST /records", begin)

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.FAILED
        assert "4 of 10 were read back as written" in transfer.status_reason
        assert len(world.change_sets()) == 1


def test_a_transfer_nobody_approved_expires() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person"):
        transfer = request(alice, ask())
        Transfer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

        with pytest.raises(StateMoved):
            approve(bob, transfer)
        assert expire_transfers() == 1
        assert expire_transfers() == 0

        transfer.refresh_from_db()
        assert transfer.status == STATUS.EXPIRED
        request(alice, ask())


def test_one_that_was_approved_and_did_not_begin_in_time_expires_too() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person") as world:
        transfer = approve(bob, request(alice, ask()))
        Transfer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

        run_transfer(transfer.pk)
        expired = expire_transfers()

        transfer.refresh_from_db()
        assert expired == 1
        assert transfer.status == STATUS.EXPIRED
        assert world.change_sets() == []


def test_it_can_be_cancelled_until_something_is_sent() -> None:
    alice = make_alice()
    with open_world():
        first = request(alice, ask())
        assert cancel_transfer(alice, first.public_id, reason="Not now.").status == STATUS.CANCELLED
        second = request(alice, ask())
        run_transfer(second.pk)

        with pytest.raises(StateMoved):
            cancel_transfer(alice, second.public_id, reason="Too late.")


def test_nobody_cancels_what_is_not_theirs_to_request() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person"):
        transfer = request(alice, ask())

        with pytest.raises(NotAllowed):
            cancel_transfer(bob, transfer.public_id, reason="No.")

        transfer.refresh_from_db()
        assert transfer.status == STATUS.REQUESTED


def test_a_rejection_needs_a_reason_and_ends_it() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person"):
        transfer = request(alice, ask())

        with pytest.raises(InvalidRequest):
            reject_transfer(bob, transfer.public_id, reason=" ")
        with pytest.raises(NotAllowed):
            reject_transfer(alice, transfer.public_id, reason="I changed my mind.")

        assert reject_transfer(bob, transfer.public_id, reason="Wrong week.").status == STATUS.REJECTED


@pytest.mark.parametrize("side", [BLUE, GREEN])
def test_a_request_needs_both_sides(side: str) -> None:
    with open_world():
        one_sided = make_person("charlie", Grant.Action.REQUEST, owner=register_owner(side))

        with pytest.raises(NotAllowed):
            request_reviewed(one_sided, ask())

        assert [each.code for each in plan(one_sided, ask()).refusals] == ["not_allowed"]


def test_nobody_may_do_nothing() -> None:
    nobody = Actor(kind="user", name="")
    with open_world(), pytest.raises(NotAllowed):
        request_reviewed(nobody, ask())


def _freeze_everything() -> None:
    Freeze.objects.create(reason="change stop", starts_at=timezone.now(), created_by="alice")
    connection.close()


def test_a_token_that_may_not_apply_sends_nothing_even_where_no_approval_is_asked_for() -> None:
    alice = make_alice()
    planner = replace(alice, kind="token", scopes=frozenset({"read", "plan"}))
    applier = replace(planner, scopes=frozenset({"read", "plan", "apply"}))
    with open_world(approval_policy="none"):
        planned = request(planner, ask(selection=Selection(names=("app-00000.example.org",))))
        applied = request(applier, ask(selection=Selection(names=("app-00001.example.org",))))

        assert (planned.status, applied.status) == (STATUS.REQUESTED, STATUS.APPROVED)
        assert due_transfers() == [applied.pk]
