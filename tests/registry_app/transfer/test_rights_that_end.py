"""An approval lasts no longer than the rights it rests on."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from registry_app.errors import RefusedBySafety
from registry_app.models import AuditEntry, Grant, Owner, Provider, Transfer, TransferItem
from registry_app.transfer.decisions import decide_transfer
from registry_app.transfer.send.run_transfer import run_transfer
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    approve,
    ask,
    make_alice,
    make_bob,
    make_person,
    open_world,
    owners,
    request,
)

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True)]

STATUS = Transfer.Status
OTHER_PERSON = Provider.ApprovalPolicy.OTHER_PERSON


def _revoke(username: str) -> None:
    Grant.objects.filter(group__user__username=username).delete()


def _narrow(username: str) -> None:
    Grant.objects.filter(group__user__username=username).update(name_suffix="elsewhere.example.org")


def _deactivate(username: str) -> None:
    User.objects.filter(username=username).update(is_active=False)


def _delete(username: str) -> None:
    User.objects.get(username=username).delete()


_ENDS: tuple[Callable[[str], None], ...] = (_revoke, _narrow, _deactivate, _delete)


@pytest.mark.parametrize("end", _ENDS)
def test_an_approval_ends_with_the_right_of_who_gave_it_and_another_one_helps(
    end: Callable[[str], None],
) -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy=OTHER_PERSON) as world:
        transfer = approve(bob, request(alice, ask()))

        end("bob")
        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        waiting = (transfer.status, transfer.approved_by_name, transfer.approved_fingerprint)
        reason, sent = transfer.status_reason, len(world.change_sets())
        approve(make_person("carol", Grant.Action.APPROVE), transfer)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert waiting == (STATUS.REQUESTED, "", "")
        assert "bob, who approved it," in reason
        assert "needs an approval again" in reason
        assert sent == 0
        assert AuditEntry.objects.filter(action="transfer.approval_ended").count() == 1
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason


@pytest.mark.parametrize("end", _ENDS)
@pytest.mark.parametrize("policy", [OTHER_PERSON, Provider.ApprovalPolicy.NONE])
def test_a_transfer_ends_with_the_right_of_who_requested_it(end: Callable[[str], None], policy: str) -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy=policy) as world:
        transfer = request(alice, ask())
        if policy == OTHER_PERSON:
            approve(bob, transfer)

        end("alice")
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.STALE
        assert "alice, who requested it," in transfer.status_reason
        assert not world.change_sets()


def test_a_right_on_one_side_is_not_enough() -> None:
    alice, bob = make_alice(), make_person("bob")
    for owner_id in (BLUE, GREEN):
        owner = Owner.objects.create(owner_id=owner_id, status=Owner.Status.REGISTERED)
        make_person("bob", Grant.Action.APPROVE, owner=owner)
    with open_world(approval_policy=OTHER_PERSON) as world:
        transfer = approve(bob, request(alice, ask()))

        Grant.objects.filter(owner__owner_id=GREEN).delete()
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.REQUESTED
        assert "may not approve transfers of record sets to green-cluster" in transfer.status_reason
        assert not world.change_sets()


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_a_transfer_under_way_stops_before_its_next_step(who: str, settings: Settings) -> None:
    settings.DNSADMIN_LONGEST_RUN = timedelta(0)  # it gives way after each batch
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy=OTHER_PERSON, batch_size=1) as world:
        transfer = approve(bob, request(alice, ask()))
        run_transfer(transfer.pk)

        _revoke(who)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        items = transfer.items.order_by("ordinal").values_list("status", flat=True)
        assert len(world.change_sets()) == 1
        assert owners(world) == {BLUE: 9, GREEN: 1}
        assert transfer.status == STATUS.FAILED
        assert f"{who}, who" in transfer.status_reason
        assert list(items) == [TransferItem.Status.VERIFIED, *[TransferItem.Status.STALE] * 9]


def test_nothing_is_sent_again_on_an_approval_that_ended() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy=OTHER_PERSON) as world:
        transfer = approve(bob, request(alice, ask()))
        Transfer.objects.filter(pk=transfer.pk).update(status=STATUS.NEEDS_OPERATOR)

        _revoke("bob")
        with pytest.raises(RefusedBySafety) as refused:
            decide_transfer(alice, transfer.public_id, decision="send_again", reason="Again.")

        assert refused.value.code == "approval_ended"
        assert not world.change_sets()
