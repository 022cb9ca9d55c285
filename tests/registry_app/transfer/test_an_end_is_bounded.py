"""Whatever is wrong, a transfer comes to its end, and the end says what the provider showed."""

from contextlib import suppress
from datetime import timedelta
from functools import partial

import msgspec
import pytest
from django.db import connection
from django.db.models import ProtectedError
from django.utils import timezone
from pytest_django import Settings

from registry_app.inventory.freeze import freeze
from registry_app.models import Freeze, Provider, RegistryProfile, Transfer, TransferItem
from registry_app.queries.transfer import due_transfers
from registry_app.transfer.decisions import decide_transfer
from registry_app.transfer.plan.claim_key import build_txt_key
from registry_app.transfer.send.run_transfer import run_transfer
from registry_app.transfer.send.session import TransferSession
from registry_app.transfer.send.steps import read_back
from registry_app.writes.pace import MOST_ATTEMPTS
from registry_app.writes.read_back import Change
from registry_app.writes.session import leased_provider, open_session
from tests.factories import make_administrator
from tests.faults import read_faults, write_faults
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    ask,
    make_actor,
    make_alice,
    open_world,
    owners,
    register_owner,
    request,
    request_reviewed,
)

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

STATUS = Transfer.Status
_MOST_RUNS = 10


def test_a_last_sync_that_fails_unexpectedly_does_not_keep_it_open_for_ever() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        Provider.objects.filter(pk=world.provider.pk).update(domain_filter={"include": 5})

        runs = _run_until_it_ends(transfer)

        assert 1 < runs <= _MOST_RUNS
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert len(world.change_sets()) == 1
        assert owners(world) == {GREEN: 10}
        Provider.objects.filter(pk=world.provider.pk).update(domain_filter={})
        world.sync()
        assert world.owner_of("app-00000.example.org") == GREEN


def test_between_two_tries_of_it_there_is_a_pause() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        Provider.objects.filter(pk=world.provider.pk).update(domain_filter={"include": 5})

        with pytest.raises(msgspec.ValidationError):
            run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.SENT
        assert due_transfers() == []


def test_one_provider_that_refuses_does_not_hold_up_another_of_the_same_request() -> None:
    alice = make_alice()
    second_zone = make_zone(BLUE, 2, domain="example.net")
    with open_world() as first, open_world(second_zone, name="second-zone") as second:
        at_first, at_second = sorted(request_reviewed(alice, ask()), key=lambda each: each.provider_id)
        first.reference.faults.plan("POST /records", write_faults.error_before_applying())

        for transfer in (at_first, at_second):
            run_transfer(transfer.pk)
            transfer.refresh_from_db()

        assert (at_first.status, at_second.status) == (STATUS.FAILED, STATUS.VERIFIED)
        assert owners(first) == {BLUE: 10}
        assert owners(second) == {GREEN: 2}


def test_what_was_to_be_sent_again_and_was_not_stays_with_the_operator() -> None:
    alice, root = make_alice(), make_actor(make_administrator())
    with open_world() as world:
        transfer = request(alice, ask())
        world.reference.faults.plan("POST /records", write_faults.success_with_something_else())
        run_transfer(transfer.pk)
        decide_transfer(alice, transfer.public_id, decision="send_again", reason="It was repaired.")

        freeze(root, provider_id=world.provider.pk, reason="A change stop.", ends_at=None)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.NEEDS_OPERATOR
        assert len(world.change_sets()) == 1
        left = transfer.items.filter(status=TransferItem.Status.NEEDS_OPERATOR).first()
        assert left is not None
        assert "sent before, and not again" in left.status_reason


def test_a_batch_that_was_read_back_makes_the_attempts_before_it_forgotten() -> None:
    alice = make_alice()
    with open_world(make_zone(BLUE, 2), batch_size=1) as world:
        transfer = request(alice, ask())
        Transfer.objects.filter(pk=transfer.pk).update(attempt=MOST_ATTEMPTS - 1)
        # After the review, the first batch, and what it became.
        world.reference.faults.plan("GET /records", read_faults.status(503), after=3)

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert len(world.change_sets()) == 2
        assert transfer.status == STATUS.SENDING
        assert "It is tried again" in transfer.status_reason


@pytest.mark.parametrize("reads_before", [0, 1])
def test_a_freeze_decided_while_we_read_comes_before_what_we_would_send(reads_before: int) -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())

        def decide() -> None:
            Freeze.objects.create(provider=world.provider, reason="Stop.", starts_at=timezone.now())
            connection.close()  # that of the server's thread

        world.reference.faults.plan("GET /records", write_faults.meanwhile(decide), after=reads_before)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.STALE
        assert "frozen" in transfer.status_reason
        assert world.change_sets() == []


def test_another_address_proves_nothing_about_what_was_sent_to_the_former_one() -> None:
    alice = make_alice()
    with open_world() as world, ReferenceProvider(make_zone(BLUE, 10)) as other:
        transfer = request(alice, ask())
        world.reference.faults.plan("POST /records", write_faults.applied_then_reset())
        world.reference.faults.plan("GET /records", read_faults.shuffled())
        world.reference.faults.plan("GET /records", read_faults.shuffled())
        for _ in range(2):
            world.reference.faults.plan("GET /records", read_faults.status(503))
        run_transfer(transfer.pk)

        Provider.objects.filter(pk=world.provider.pk).update(url=other.url)
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.NEEDS_OPERATOR
        assert "another address" in transfer.status_reason
        assert other.history.requests() == ()
        Provider.objects.filter(pk=world.provider.pk).update(url=world.reference.url)
        decide_transfer(alice, transfer.public_id, decision="look_again", reason="It is back.")
        world.reference.faults.clear()
        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason


def test_a_key_changed_after_the_approval_is_not_used() -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="sealed", encryption_key="0123456789abcdef0123456789abcdef")
    with open_world() as world:
        register_owner(GREEN, registry_profile=profile)
        transfer = request(alice, ask())
        profile.encryption_key = "another key of thirty-two bytes!"
        profile.save()

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.STALE
        assert "encryption key" in transfer.status_reason
        assert world.change_sets() == []
        assert "0123456789abcdef" not in str(transfer.preconditions)


def test_a_provider_may_be_renamed_on_the_way() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())

        Provider.objects.filter(pk=world.provider.pk).update(name="renamed-zone")
        run_transfer(transfer.pk)

        assert owners(world) == {GREEN: 10}


def test_a_provider_and_owners_of_transfers_cannot_be_deleted() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        assert transfer.target_owner is not None

        with pytest.raises(ProtectedError):
            world.provider.delete()
        with pytest.raises(ProtectedError):
            transfer.target_owner.delete()


def test_a_pause_that_a_wrong_clock_made_a_year_long_is_none() -> None:
    alice = make_alice()
    with open_world():
        transfer = request(alice, ask())

        Transfer.objects.update(next_attempt_at=timezone.now() + timedelta(days=365))

        assert due_transfers() == [transfer.pk]


def test_a_clock_set_back_does_not_make_a_reading_last_longer() -> None:
    alice, name = make_alice(), "www.example.org"
    with open_world([make_record(name), make_claim(name)], read_back_seconds=1) as world:
        transfer = request(alice, ask())
        claim = make_claim(name)
        wanted = msgspec.structs.replace(claim, targets=('"heritage=external-dns,external-dns/owner=red"',))
        changes = {build_txt_key(f"a-{name}"): Change(claim, wanted)}
        started = timezone.now()
        with (
            leased_provider(world.provider.pk, "a worker") as leased,
            open_session(leased, partial(TransferSession, transfer=transfer)) as session,
        ):
            found = read_back(session, changes, {name, f"a-{name}"}, since=started + timedelta(days=1))

        assert set(found.outcomes.values()) == {"old"}
        assert timezone.now() - started < timedelta(seconds=5)


def test_what_expired_while_the_clock_was_wrong_is_not_begun() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        Transfer.objects.update(expires_at=timezone.now() - timedelta(days=1))

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.APPROVED
        assert world.change_sets() == []
        world.provider.refresh_from_db()
        assert world.provider.lease_until is None


def _run_until_it_ends(transfer: Transfer) -> int:
    """How many runs it took; each may raise what nobody expected, as in a worker."""
    for number in range(1, _MOST_RUNS + 1):
        with suppress(msgspec.ValidationError):
            run_transfer(transfer.pk)
        transfer.refresh_from_db()
        if transfer.status not in (STATUS.APPROVED, STATUS.SENDING, STATUS.SENT):
            return number
    raise AssertionError(f"still {transfer.status}: {transfer.status_reason}")


def test_a_run_that_takes_too_long_gives_way_after_each_batch_and_comes_to_its_end(
    settings: Settings,
) -> None:
    settings.DNSADMIN_LONGEST_RUN = timedelta(0)
    alice = make_alice()
    with open_world(batch_size=4) as world:
        transfer = request(alice, ask())
        sent = []

        for _ in range(4):
            assert transfer.pk in due_transfers()
            run_transfer(transfer.pk)
            sent.append(len(world.change_sets()))
            transfer.refresh_from_db()
            if transfer.status == Transfer.Status.VERIFIED:
                break

        assert sent == [1, 2, 3]
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
