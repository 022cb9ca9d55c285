"""A worker killed with -9 at every named point: the next one finishes by looking, never by sending again."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from providers.wire.change_set import ChangeSet
from registry_app.models import Provider, RegistryProfile, Transfer, TransferItem
from registry_app.queries.transfer import due_transfers
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.faults import write_faults
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.transfer.forking import Forks
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    ask,
    make_alice,
    open_world,
    register_owner,
    request,
    rewrite,
)

pytestmark = pytest.mark.django_db(transaction=True)

_PHASES = ("write", "remove")
# Between its mark and its first byte nobody can tell whether a step was sent: see the tests at the end.
ON_THE_WAY = [
    "transfer.lease_taken",
    "transfer.becoming_sending",
    "transfer.begun",
    "transfer.attempt_noted",
    "transfer.reviewed",
    *(
        f"transfer.{phase}_{point}"
        for phase in _PHASES
        for point in ("stored", "sent", "answered", "read_back", "settled")
    ),
    "transfer.step_over",
    "transfer.becoming_sent",
    "transfer.closed",
    "transfer.synced",
    "transfer.becoming_verified",
]
POINTS = {
    *ON_THE_WAY,
    "transfer.ended",
    "transfer.outcomes_stored",
    "transfer.write_marked",
    "transfer.remove_marked",
}


def run_and_die(forks: Forks, transfer: Transfer, crash_at: str) -> None:
    """Run in another process, on this test's database, and be killed at a named point on the way."""
    assert forks.act("run", transfer.pk, crash_at=crash_at).was_killed


def resume(transfer: Transfer) -> None:
    """What the scheduler does once the dead worker's lease is over: time passes, and it is due again."""
    assert transfer.pk not in due_transfers()
    a_moment_ago = timezone.now() - timedelta(seconds=1)
    Provider.objects.update(lease_until=a_moment_ago)
    Transfer.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=a_moment_ago)
    assert transfer.pk in due_transfers()
    run_transfer(transfer.pk)
    transfer.refresh_from_db()


def raise_if_anything_was_asked_twice(world: World) -> None:
    asked = [
        (endpoint.dns_name, kind)
        for change_set in world.change_sets()
        for kind in ("create", "update_new", "delete")
        for endpoint in getattr(change_set, kind)
    ]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("crash_at", ON_THE_WAY)
def test_it_ends_verified_and_the_provider_saw_each_change_at_most_once(forks: Forks, crash_at: str) -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="green's", prefix="own-")
    names = [f"app-{number}.example.org" for number in range(3)]
    zone = [each for name in names for each in (make_record(name), make_claim(name))]
    with open_world(zone, batch_size=2) as world:
        register_owner(GREEN, registry_profile=profile)
        transfer = request(alice, ask())

        run_and_die(forks, transfer, crash_at)
        resume(transfer)

        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        raise_if_anything_was_asked_twice(world)
        expected = {(name, "A") for name in names} | {(f"own-a-{name}", "TXT") for name in names}
        assert set(world.zone()) == expected
        assert {world.owner_of(name) for name in names} == {GREEN}


def test_killed_after_it_left_out_what_moved_meanwhile_it_finishes_the_rest(forks: Forks) -> None:
    alice = make_alice()
    with open_world(batch_size=2) as world:
        transfer = request(alice, ask())
        moved = "app-00004.example.org"
        act = partial(rewrite, world, moved, "A", "192.0.2.99")
        world.reference.faults.plan("POST /records", write_faults.meanwhile(act))

        run_and_die(forks, transfer, "transfer.outcomes_stored")
        resume(transfer)

        others = transfer.items.exclude(status=TransferItem.Status.VERIFIED)
        assert list(others.values_list("name", "status")) == [(moved, TransferItem.Status.STALE)]
        assert world.owner_of(moved) == BLUE
        raise_if_anything_was_asked_twice(world)


def test_killed_right_after_the_end_nothing_is_left_to_do(forks: Forks) -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())

        run_and_die(forks, transfer, "transfer.ended")

        transfer.refresh_from_db()
        Provider.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert transfer.status == Transfer.Status.VERIFIED
        assert transfer.pk not in due_transfers()
        world.sync()
        assert world.owner_of("app-00000.example.org") == GREEN


@pytest.mark.deep
def test_a_worker_that_dies_each_time_is_not_replaced_for_ever(forks: Forks) -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        Transfer.objects.filter(pk=transfer.pk).update(attempt=5)

        run_and_die(forks, transfer, "transfer.reviewed")
        resume(transfer)

        assert transfer.status == Transfer.Status.STALE
        assert world.change_sets() == []


def test_a_step_that_may_have_been_sent_is_never_sent_again(forks: Forks) -> None:
    alice = make_alice()
    with open_world() as world:
        before = world.reference.zone_bytes()
        transfer = request(alice, ask())

        run_and_die(forks, transfer, "transfer.write_marked")
        resume(transfer)

        assert transfer.status == Transfer.Status.FAILED
        assert world.change_sets() == []
        assert world.reference.zone_bytes() == before
        again = request(alice, ask())
        run_transfer(again.pk)
        assert world.owner_of("app-00000.example.org") == GREEN


@pytest.mark.deep
def test_what_was_verified_and_reverted_since_is_not_written_again(forks: Forks) -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="green's", prefix="own-")
    name = "www.example.org"
    with open_world([make_record(name), make_claim(name), *make_zone(BLUE, 4)]) as world:
        register_owner(GREEN, registry_profile=profile)
        transfer = request(alice, ask(selection=Selection(names=(name,))))

        run_and_die(forks, transfer, "transfer.remove_stored")
        written = world.zone()[f"own-a-{name}", "TXT"]
        world.reference.backend.apply(ChangeSet(delete=(written,)))
        resume(transfer)

        raise_if_anything_was_asked_twice(world)
        assert transfer.status == Transfer.Status.NEEDS_OPERATOR
        assert "was read back, and is not there any more" in transfer.items.get().status_reason
        assert f"owner={BLUE}" in world.claim_text(f"a-{name}")


def test_a_removal_that_may_have_been_sent_waits_for_an_operator_while_both_claims_exist(
    forks: Forks,
) -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="green's", prefix="own-")
    name = "www.example.org"
    with open_world([make_record(name), make_claim(name)]) as world:
        register_owner(GREEN, registry_profile=profile)
        transfer = request(alice, ask())

        run_and_die(forks, transfer, "transfer.remove_marked")
        resume(transfer)

        assert transfer.status == Transfer.Status.NEEDS_OPERATOR
        assert f"owner={BLUE}" in world.claim_text(f"a-{name}")
        assert f"owner={GREEN}" in world.claim_text(f"own-a-{name}")
        item = transfer.items.get()
        assert item.status == TransferItem.Status.NEEDS_OPERATOR
        assert "Send again" in item.status_reason
