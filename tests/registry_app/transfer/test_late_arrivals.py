"""What was read back as before may still be applied: failed transfers are looked at for a day."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from registry_app.audit import verify_audit
from registry_app.models import AuditEntry, HeldSnapshot, Provider, RegistryProfile, Transfer, TransferItem
from registry_app.queries.transfer import allowed_actions, due_transfers
from registry_app.queries.transfer_items import providers_with_late_arrivals
from registry_app.queries.write_invariants import TRANSFER_INVARIANTS
from registry_app.transfer.decisions import decide_transfer
from registry_app.transfer.periodic_checks import reopen_if_applied_late
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.faults import write_faults
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    ask,
    make_alice,
    open_world,
    owners,
    register_owner,
    request,
    rewrite,
    undo_reviewed,
)

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

STATUS = Transfer.Status
ITEM = TransferItem.Status


def _fail(world: World, **values: Any) -> Transfer:
    """A transfer that ends failed, and whose change set is applied when the provider comes to it."""
    transfer = request(make_alice(), ask(**values))
    world.reference.faults.plan("POST /records", write_faults.applied_late(reads=1_000, code=204))
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    assert transfer.status == STATUS.FAILED, transfer.status_reason
    return transfer


def _sync(world: World) -> int:
    """A sync, and what the scheduler does because of it; how many transfers were taken up again."""
    world.sync()
    reopened = sum(reopen_if_applied_late(pk) for pk in providers_with_late_arrivals(timezone.now()))
    for pk in due_transfers():
        run_transfer(pk)
    return reopened


def _arrive(world: World, *names: str) -> None:
    """The provider applies what it was sent for some of the names."""
    for name in names:
        txt = f"a-{name}.example.org"
        rewrite(world, txt, "TXT", world.claim_text(txt).replace(BLUE, GREEN))


def test_a_change_that_arrives_after_the_end_is_verified_and_can_be_undone() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = _fail(world)
        assert "as it was" not in " ".join(transfer.items.values_list("status_reason", flat=True))
        assert _sync(world) == 0

        world.reference.faults.deliver_late()
        reopened = _sync(world)

        transfer.refresh_from_db()
        assert reopened == 1
        assert transfer.status == STATUS.VERIFIED
        assert "Arrived late" in transfer.status_reason
        assert set(transfer.items.values_list("status", "status_reason")) == {
            (ITEM.VERIFIED, "Arrived late.")
        }
        assert not HeldSnapshot.objects.exists()  # all owners changed, and it is known why
        assert len(world.change_sets()) == 1
        actions = AuditEntry.objects.filter(
            object_id=str(transfer.pk), action__startswith="transfer."
        ).order_by("pk")
        assert list(actions.values_list("action", flat=True))[-3:] == [
            "transfer.failed",
            "transfer.sent",
            "transfer.verified",
        ]
        assert verify_audit() is None
        assert [each.id for each in TRANSFER_INVARIANTS if each.find() is not None] == []
        assert [each.action for each in allowed_actions(alice, transfer)] == ["undo"]
        before = world.zone()
        undo = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation="undo 10 record sets")
        run_transfer(undo.pk)
        assert owners(world) == {BLUE: 10}
        assert before.keys() == world.zone().keys()


def test_what_arrived_of_a_batch_is_verified_and_the_rest_is_watched_on() -> None:
    with open_world() as world:
        transfer = _fail(world)
        until = transfer.watch_until

        _arrive(world, "app-00000", "app-00001")
        first = _sync(world)
        transfer.refresh_from_db()
        parts = (transfer.status, transfer.items.filter(status=ITEM.VERIFIED).count(), transfer.watch_until)
        again = _sync(world)
        world.reference.faults.clear()
        _arrive(world, "app-00002")
        _sync(world)
        transfer.refresh_from_db()

        assert (first, again) == (1, 0)
        assert parts == (STATUS.FAILED, 2, until)
        assert transfer.items.filter(status=ITEM.VERIFIED).count() == 3
        assert "3 of 10 were read back as written, 3 of them arrived late" in transfer.status_reason
        assert not transfer.items.filter(lock_key__isnull=False).exists()


@pytest.mark.parametrize("is_newer_open", [True, False])
def test_a_newer_transfer_of_the_name_has_what_arrives(is_newer_open: bool) -> None:
    with open_world() as world:
        transfer = _fail(world, selection=Selection(names=("app-00000.example.org",)))
        newer = (
            request(make_alice(), ask(selection=Selection(names=("app-00000.example.org",))))
            if is_newer_open
            else _fail(world, selection=Selection(names=("app-00000.example.org",)))
        )

        _arrive(world, "app-00000")
        _sync(world)
        transfer.refresh_from_db()
        newer.refresh_from_db()

        assert transfer.status == STATUS.FAILED
        # One that was not sent yet finds another state than was reviewed.
        assert newer.status == (STATUS.STALE if is_newer_open else STATUS.VERIFIED)


def test_after_a_day_it_is_not_checked_any_more() -> None:
    with open_world() as world:
        transfer = _fail(world)
        Transfer.objects.update(watch_until=timezone.now() - timedelta(seconds=1))

        _arrive(world, "app-00000")

        assert _sync(world) == 0
        transfer.refresh_from_db()
        assert transfer.status == STATUS.FAILED


def test_a_provider_that_moved_proves_nothing() -> None:
    with open_world() as world:
        transfer = _fail(world)
        _arrive(world, "app-00000")
        world.sync()
        Provider.objects.update(url="http://127.0.0.1:9/elsewhere")

        assert [reopen_if_applied_late(pk) for pk in providers_with_late_arrivals(timezone.now())] == [0]
        transfer.refresh_from_db()
        assert transfer.status == STATUS.FAILED


def test_what_somebody_keeps_as_it_is_may_arrive_too() -> None:
    with open_world(batch_size=1) as world:
        transfer = request(make_alice(), ask(selection=Selection(names=("app-00000.example.org",))))
        world.reference.faults.plan("POST /records", write_faults.success_with_something_else())
        run_transfer(transfer.pk)
        world.reference.faults.clear()
        decide_transfer(make_alice(), transfer.public_id, decision="keep_as_is", reason="Seen.")
        assert _sync(world) == 0

        written = transfer.items.get().after[0]["targets"][0]
        rewrite(world, "a-app-00000.example.org", "TXT", written)
        _sync(world)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED


def test_each_sync_is_used_once() -> None:
    with open_world() as world:
        _fail(world)
        world.sync()

        first = providers_with_late_arrivals(timezone.now())
        reopen_if_applied_late(world.provider.pk)

        assert first == [world.provider.pk]
        assert providers_with_late_arrivals(timezone.now()) == []


def test_a_new_claim_that_arrives_while_the_old_one_stands_needs_an_operator_who_finishes_it() -> None:
    name = "app-00000.example.org"
    with open_world() as world:
        register_owner(GREEN, registry_profile=RegistryProfile.objects.create(name="green", prefix="own-"))
        transfer = _fail(world, selection=Selection(names=(name,)))

        world.reference.faults.deliver_late()
        _sync(world)
        transfer.refresh_from_db()
        arrived = transfer.status
        world.reference.faults.clear()
        decide_transfer(make_alice(), transfer.public_id, decision="send_again", reason="Finish it.")
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert arrived == STATUS.NEEDS_OPERATOR
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert world.owner_of(name) == GREEN
        assert [len(each.create) for each in world.change_sets()] == [1, 0]
