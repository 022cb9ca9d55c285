"""What changed at the provider between the review and the sending, and who holds the lease by then."""

from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
import pytest
from django.utils import timezone
from pytest_django import Settings

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from providers.wire.json_codec import encode_change_set
from registry_app.errors import LeaseLost
from registry_app.models import Provider, Transfer, TransferItem, TransferStep
from registry_app.reconcile.lease import take_lease
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from registry_app.transfer.send.session import TransferSession
from registry_app.writes.session import leased_provider, open_session
from registry_app.writes.step import send_step, store_step
from tests.faults import write_faults
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    ask,
    make_alice,
    open_world,
    owners,
    request,
    rewrite,
)

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

WWW = "www.example.org"
STATUS = Transfer.Status


def run(transfer: Transfer) -> Transfer:
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    return transfer


def create(world: World, endpoint: Endpoint) -> None:
    world.reference.backend.apply(ChangeSet(create=(endpoint,)))


def test_another_claim_for_the_record_set_makes_it_stale() -> None:
    alice = make_alice()
    with open_world([make_record(WWW), make_claim(WWW)]) as world:
        transfer = request(alice, ask())
        create(world, make_record(WWW, "TXT", ('"heritage=external-dns,external-dns/owner=red-cluster"',)))

        run(transfer)

        assert transfer.status == STATUS.STALE
        assert "Another claim for www.example.org A appeared" in transfer.status_reason
        assert world.change_sets() == []


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"targets": ("192.0.2.99",)}, "other targets"),
        ({"record_ttl": 60}, "another TTL"),
        (
            {"provider_specific": (ProviderSpecificProperty("aws/weight", "7"),)},
            "other provider-specific settings",
        ),
    ],
)
def test_another_value_of_the_record_set_makes_it_stale(values: dict[str, Any], what: str) -> None:
    alice = make_alice()
    with open_world([make_record(WWW), make_claim(WWW)]) as world:
        transfer = request(alice, ask())
        old = world.zone()[WWW, "A"]
        new = msgspec.structs.replace(old, **values)
        world.reference.backend.apply(ChangeSet(update_old=(old,), update_new=(new,)))

        run(transfer)

        assert transfer.status == STATUS.STALE
        assert f"has {what} now" in transfer.status_reason
        assert world.change_sets() == []


def test_a_ttl_that_is_not_shown_any_more_is_no_difference() -> None:
    alice = make_alice()
    with open_world([make_record(WWW), make_claim(WWW)]) as world:
        transfer = request(alice, ask())
        old = world.zone()[WWW, "A"]
        new = msgspec.structs.replace(old, record_ttl=0)
        world.reference.backend.apply(ChangeSet(update_old=(old,), update_new=(new,)))

        run(transfer)

        assert transfer.status == STATUS.VERIFIED, transfer.status_reason


def test_a_record_set_that_came_to_share_the_claim_makes_it_stale() -> None:
    alice = make_alice()
    legacy = make_record(WWW, "TXT", ('"heritage=external-dns,external-dns/owner=blue-cluster"',))
    with open_world([make_record(WWW), legacy]) as world:
        transfer = request(alice, ask())
        create(world, make_record(WWW, "MX", ("10 mail.example.org",)))

        run(transfer)

        assert transfer.status == STATUS.STALE
        assert "also covers www.example.org MX" in transfer.status_reason
        assert world.change_sets() == []


def test_a_record_set_that_moves_under_way_is_left_and_the_others_go_on() -> None:
    alice = make_alice()
    with open_world(batch_size=5) as world:
        transfer = request(alice, ask())
        moves = write_faults.meanwhile(lambda: rewrite(world, "app-00006.example.org", "A", "192.0.2.99"))
        world.reference.faults.plan("POST /records", moves)

        run(transfer)

        left = transfer.items.get(name="app-00006.example.org")
        assert transfer.status == STATUS.FAILED
        assert left.status == TransferItem.Status.STALE
        assert "other targets" in left.status_reason
        assert owners(world) == {GREEN: 9, BLUE: 1}


def test_a_worker_stopped_longer_than_its_lease_sends_nothing_when_it_goes_on() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        body = encode_change_set(ChangeSet(delete=(world.zone()["a-app-00000.example.org", "TXT"],)))
        with (
            leased_provider(world.provider.pk, "a slow worker") as leased,
            open_session(leased, partial(TransferSession, transfer=transfer)) as stopped,
        ):
            step = store_step(stopped, body, lambda: TransferStep(transfer=transfer, phase="remove", batch=0))
            Provider.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
            assert take_lease(world.provider.pk, "its successor") is not None

            with pytest.raises(LeaseLost):
                send_step(stopped, step)

        assert world.change_sets() == []


def test_a_worker_stopped_after_its_mark_sends_nothing_once_its_lease_is_over(settings: Settings) -> None:
    alice = make_alice()
    with open_world() as world:
        before = world.reference.zone_bytes()
        transfer = request(alice, ask())
        # Over in the moment it is taken or renewed, as for whoever was stopped for that long.
        settings.DNSADMIN_LEASE = timedelta(seconds=-60)

        run(transfer)

        assert transfer.steps.get().status == TransferStep.Status.SENDING
        settings.DNSADMIN_LEASE = timedelta(seconds=60)
        run(transfer)
        assert transfer.status == STATUS.FAILED
        assert world.change_sets() == []
        assert world.reference.zone_bytes() == before


def test_a_step_that_another_run_called_off_is_not_sent() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        body = encode_change_set(ChangeSet(delete=(world.zone()["a-app-00000.example.org", "TXT"],)))
        with (
            leased_provider(world.provider.pk, "a worker") as leased,
            open_session(leased, partial(TransferSession, transfer=transfer)) as ours,
        ):
            step = store_step(ours, body, lambda: TransferStep(transfer=transfer, phase="remove", batch=0))
            TransferStep.objects.update(status=TransferStep.Status.NOT_SENT)

            with pytest.raises(LeaseLost):
                send_step(ours, step)

        assert world.change_sets() == []


@pytest.mark.parametrize("kind", ["reformat", "transfer", "release"])
def test_a_claim_that_also_covers_a_record_set_that_changed_meanwhile_stays(kind: str) -> None:
    alice = make_alice()
    legacy = make_record(WWW, "TXT", (f'"heritage=external-dns,external-dns/owner={BLUE}"',))
    zone = [make_record(WWW), make_record(WWW, "MX", ("10 mx.example.org",)), legacy]
    with open_world(zone) as world:
        transfer = request(alice, ask(kind))
        moves = write_faults.meanwhile(lambda: rewrite(world, WWW, "MX", "20 mx.example.org"))
        world.reference.faults.plan("GET /records", moves, after=1)

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.STALE
        assert {item.status for item in transfer.items.all()} == {TransferItem.Status.STALE}
        assert world.change_sets() == []
        assert world.zone()[WWW, "TXT"] == legacy


def test_a_claim_that_came_to_decide_under_way_is_not_cleaned_away() -> None:
    alice = make_alice()
    names = ("gone-1.example.org", "gone-2.example.org")
    with open_world([make_claim(name) for name in names], batch_size=1) as world:
        transfer = request(alice, ask("clean_up", Selection(names=names)))
        came = partial(create, world, make_record(names[1]))
        world.reference.faults.plan("POST /records", write_faults.meanwhile(came))

        run(transfer)

        assert transfer.status == STATUS.FAILED
        assert list(transfer.items.values_list("status", flat=True)) == ["verified", "stale"]
        assert "exists now, and its claim decides" in transfer.items.get(ordinal=1).status_reason
        world.sync()
        assert world.owner_of(names[1]) == BLUE
