"""A consent lasts no longer than the right of who gave it; the other one stays."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from registry_app.errors import RefusedBySafety
from registry_app.models import AuditEntry, Grant, Transfer
from registry_app.queries.consent import list_consents
from registry_app.queries.transfer import allowed_actions, progress
from registry_app.transfer.decisions import decide_transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.depth import deep_after
from tests.factories import make_administrator
from tests.registry_app.transfer.test_both_sides import (
    ACTION,
    BOTH,
    audited,
    consent,
    make_blue,
    make_green,
    sides_of,
)
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    ask,
    make_actor,
    make_alice,
    open_world,
    owners,
    request,
)

pytestmark = pytest.mark.django_db(transaction=True)
STATUS = Transfer.Status


def _revoke(username: str) -> None:
    Grant.objects.filter(group__user__username=username).delete()


def _deactivate(username: str) -> None:
    User.objects.filter(username=username).update(is_active=False)


def _delete(username: str) -> None:
    User.objects.get(username=username).delete()


_ENDS: tuple[Callable[[str], None], ...] = (_revoke, _deactivate, _delete)


def _consents(transfer: Transfer) -> list[tuple[str, str]]:
    transfer.refresh_from_db()
    return [(each.side, each.by) for each in list_consents(transfer)]


@pytest.mark.parametrize("end", deep_after(1, _ENDS))
def test_a_first_consent_that_ended_is_missing_again_and_the_next_one_takes_its_place(
    end: Callable[[str], None],
) -> None:
    alice, bob, dora, charlie = make_alice(), make_blue("bob"), make_blue("dora"), make_green("charlie")
    with open_world(approval_policy=BOTH):
        transfer = request(alice, ask())
        consent(bob, transfer)

        end("bob")
        transfer = Transfer.objects.get(pk=transfer.pk)
        summary, offered = progress(transfer).summary, sides_of(dora, transfer)
        told = allowed_actions(charlie, transfer)[0].consequence
        second = consent(charlie, transfer)
        between = (second.status, _consents(transfer))
        third = consent(dora, transfer)
        reasons = [reason for action, _, reason in audited(transfer) if action == "transfer.consented"]

    assert "bob, who consented for blue-cluster (gives), " in summary
    assert offered == ["giver"]
    assert told.startswith("blue-cluster (gives) must consent, too.")
    assert reasons[1] == "Consented for green-cluster (takes). The consent of bob counts no more."
    assert between == (STATUS.REQUESTED, [("taker", "charlie")])
    assert (third.status, _consents(transfer)) == (
        STATUS.APPROVED,
        [("taker", "charlie"), ("giver", "dora")],
    )


@pytest.mark.parametrize("ended", deep_after(1, ["bob", "charlie", "both"]))
def test_what_was_approved_waits_for_the_side_whose_consent_ended_before_it_was_sent(ended: str) -> None:
    people = {"bob": make_blue("bob"), "charlie": make_green("charlie")}
    alice, others = make_alice(), {"bob": make_blue("dora"), "charlie": make_green("emil")}
    lost = ["bob", "charlie"] if ended == "both" else [ended]
    with open_world(approval_policy=BOTH) as world:
        transfer = request(alice, ask())
        for person in people.values():
            consent(person, transfer)

        for name in lost:
            _revoke(name)
        run_transfer(transfer.pk)
        left = _consents(transfer)
        waiting, reason, sent = transfer.status, transfer.status_reason, len(world.change_sets())
        for name in lost:
            consent(others[name], transfer)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
    sides = {"bob": "giver", "charlie": "taker"}
    assert (waiting, sent) == (STATUS.REQUESTED, 0)
    assert left == [(side, name) for name, side in sides.items() if name not in lost]
    assert all(f"{name}, who consented for " in reason for name in lost)
    assert AuditEntry.objects.filter(action="transfer.approval_ended").count() == 1


@pytest.mark.parametrize("is_approved", [False, True])
def test_a_consent_counts_no_more_once_nobody_knows_who_issued_its_token(is_approved: bool) -> None:
    root = make_actor(make_administrator())
    alice, bob, dora, charlie = make_alice(), make_blue("bob"), make_blue("dora"), make_green("charlie")
    by_token = replace(bob, kind="token", name="bob (ci)", issuer_id=root.user_id)
    with open_world(approval_policy=BOTH) as world:
        transfer = request(alice, ask())
        consent(by_token, transfer)
        if is_approved:
            consent(charlie, transfer)

        _delete("root")
        run_transfer(transfer.pk)
        sent = len(world.change_sets())
        offered = sides_of(dora, transfer)
        consent(dora, transfer)
        if not is_approved:
            consent(charlie, transfer)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
    assert (sent, offered) == (0, ["giver"])


def test_the_requester_needs_a_right_over_one_side_and_no_less() -> None:
    alice = make_blue("alice", ACTION.REQUEST)
    make_green("alice", ACTION.REQUEST)
    bob, charlie = make_blue("bob"), make_green("charlie")
    grants = Grant.objects.filter(action=ACTION.REQUEST)
    with open_world(approval_policy=BOTH) as world:
        moving = request(alice, ask(selection=Selection(names=("app-00000.example.org",))))
        staying = request(alice, ask(selection=Selection(names=("app-00001.example.org",))))
        for transfer in (moving, staying):
            consent(bob, transfer)
            consent(charlie, transfer)
        grants.filter(owner__owner_id=BLUE).delete()
        run_transfer(moving.pk)
        grants.delete()
        run_transfer(staying.pk)

        moving.refresh_from_db()
        staying.refresh_from_db()
        assert owners(world) == {BLUE: 9, GREEN: 1}
    assert (moving.status, staying.status) == (STATUS.VERIFIED, STATUS.STALE)
    assert "alice, who requested it, may not request transfers of record sets of" in staying.status_reason


@pytest.mark.parametrize("who", deep_after(1, ["bob", "charlie"]))
def test_a_transfer_under_way_stops_before_its_next_step(who: str, settings: Settings) -> None:
    settings.DNSADMIN_LONGEST_RUN = timedelta(0)  # it gives way after each batch
    alice, bob, charlie = make_alice(), make_blue("bob"), make_green("charlie")
    with open_world(approval_policy=BOTH, batch_size=1) as world:
        transfer = consent(charlie, consent(bob, request(alice, ask())))
        run_transfer(transfer.pk)

        _revoke(who)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert (len(world.change_sets()), owners(world)) == (1, {BLUE: 9, GREEN: 1})
        assert transfer.status == STATUS.FAILED
        assert f"{who}, who consented for" in transfer.status_reason


def test_nothing_is_sent_again_on_a_consent_that_ended() -> None:
    alice, bob, charlie = make_alice(), make_blue("bob"), make_green("charlie")
    with open_world(approval_policy=BOTH) as world:
        transfer = consent(charlie, consent(bob, request(alice, ask())))
        Transfer.objects.filter(pk=transfer.pk).update(status=STATUS.NEEDS_OPERATOR)

        _revoke("bob")
        with pytest.raises(RefusedBySafety) as refused:
            decide_transfer(alice, transfer.public_id, decision="send_again", reason="Again.")

        assert refused.value.code == "approval_ended"
        assert not world.change_sets()
