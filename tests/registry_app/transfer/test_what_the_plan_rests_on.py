"""What was reviewed is more than the zone: where it is sent, how the owners write, who answered for it."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from registry_app.errors import NotAllowed, StateMoved
from registry_app.models import Owner, Provider, RegistryProfile, Transfer
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import set_instance
from tests.reference_server import ReferenceProvider
from tests.registry_app.transfer.world import (
    GREEN,
    World,
    approve,
    ask,
    make_alice,
    make_bob,
    open_world,
    register_owner,
    request,
)

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

STATUS = Transfer.Status


def _prefix(_world: World) -> None:
    register_owner(GREEN, registry_profile=RegistryProfile.objects.create(name="late", prefix="late-"))


def _policy(_world: World) -> None:
    set_instance(GREEN, policy="sync")


def _decommission(_world: World) -> None:
    Owner.objects.filter(owner_id=GREEN).update(status=Owner.Status.DECOMMISSIONED)


def _disable(world: World) -> None:
    Provider.objects.filter(pk=world.provider.pk).update(is_enabled=False)


def _tighten(world: World) -> None:
    policy = Provider.ApprovalPolicy.OTHER_PERSON
    Provider.objects.filter(pk=world.provider.pk).update(approval_policy=policy)


def _deactivate(_world: World) -> None:
    User.objects.filter(username="alice").update(is_active=False)


def _another_query(world: World) -> None:
    Provider.objects.filter(pk=world.provider.pk).update(url_query="tenant=another")


def _one_at_a_time(world: World) -> None:
    Provider.objects.filter(pk=world.provider.pk).update(write_mode=Provider.WriteMode.VALUE_EXACT)


def _speak_otherwise(world: World) -> None:
    Provider.objects.filter(pk=world.provider.pk).update(protocol=Provider.Protocol.PLUGIN)


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (_prefix, "of green-cluster changed after"),
        (_policy, "policy"),
        (_decommission, "decommissioned"),
        (_disable, "disabled"),
        (_another_query, "another address"),
        (_one_at_a_time, "takes fewer record sets at a time now (1) than when this was reviewed (50)"),
        (_speak_otherwise, "another protocol"),
        (_tighten, "another person"),
        (_deactivate, "may not sign in"),
    ],
)
def test_a_change_after_the_approval_makes_it_invalid_and_nothing_is_sent(
    move: Callable[[World], None], said: str
) -> None:
    with open_world(approval_policy="none") as world:
        before = world.reference.zone_bytes()
        transfer = request(make_alice(), ask())
        assert transfer.status == STATUS.APPROVED

        move(world)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        # Where only another person's word is missing, that is what it waits for.
        waits = move is _tighten
        assert transfer.status == (STATUS.REQUESTED if waits else STATUS.STALE)
        assert said in transfer.status_reason
        assert world.change_sets() == []
        assert world.reference.zone_bytes() == before
        assert transfer.items.filter(lock_key__isnull=False).exists() is waits


def test_an_approval_for_one_address_is_none_for_another() -> None:
    with open_world(approval_policy="none") as world, ReferenceProvider(world.reference.endpoints()) as other:
        transfer = request(make_alice(), ask())

        Provider.objects.filter(pk=world.provider.pk).update(url=other.url)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.STALE
        assert "another address" in transfer.status_reason
        assert not other.history.requests("POST /records")
        assert world.change_sets() == []


def test_a_provider_that_takes_more_at_a_time_by_now_gets_the_batches_that_were_reviewed() -> None:
    with open_world(approval_policy="none", write_mode=Provider.WriteMode.SEQUENTIAL) as world:
        transfer = request(make_alice(), ask())

        Provider.objects.filter(pk=world.provider.pk).update(write_mode=Provider.WriteMode.ATOMIC)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED
        assert len(world.change_sets()) == transfer.items.count()


def test_what_moved_before_the_approval_is_not_approved() -> None:
    with open_world(approval_policy="other_person") as world:
        transfer = request(make_alice(), ask())

        _policy(world)

        with pytest.raises(StateMoved, match="changed after this was reviewed"):
            approve(make_bob(), transfer)
        transfer.refresh_from_db()
        assert transfer.status == STATUS.REQUESTED


def test_a_provider_that_asks_for_another_person_by_now_gets_one() -> None:
    with open_world(approval_policy="other_person") as world:
        Provider.objects.filter(pk=world.provider.pk).update(approval_policy="none")
        alice = make_alice()
        transfer = request(alice, ask())
        Transfer.objects.filter(pk=transfer.pk).update(status=STATUS.REQUESTED, approved_fingerprint="")

        _tighten(world)

        with pytest.raises(NotAllowed):
            approve(alice, transfer)
        approved = approve(make_bob(), transfer)
        assert approved.approval_policy == "other_person"
