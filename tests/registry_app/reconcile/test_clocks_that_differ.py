"""Leases and expiry go by the database's clock. A machine whose clock is off says so and takes no lease."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from registry_app.clock import fetch_now, measure_offset
from registry_app.errors import ClockOff
from registry_app.models import Finding, Provider, Transfer
from registry_app.queries.transfer import due_transfers
from registry_app.reconcile.clock_check import note_clock
from registry_app.reconcile.lease import raise_if_lost, take_lease
from registry_app.tasks import run_sync, run_transfer, sweep, tick
from registry_app.transfer.periodic_checks import expire_transfers
from tests.factories import make_provider
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    approve,
    ask,
    make_alice,
    make_bob,
    open_world,
    owners,
    request,
)

pytestmark = pytest.mark.django_db(transaction=True)
OTHER_PERSON = Provider.ApprovalPolicy.OTHER_PERSON
FAR, NEAR = timedelta(seconds=300), timedelta(seconds=4)


def _clock(offset: timedelta) -> time_machine.travel:
    """This process's clock, off by `offset`; the database's stays as it is."""
    return time_machine.travel(datetime.now(UTC) + offset, tick=True)


def test_the_offset_is_seen_in_both_directions() -> None:
    assert measure_offset() == timedelta(0)
    for offset in (FAR, -FAR):
        with _clock(offset):
            assert abs(measure_offset() - offset) < timedelta(seconds=1)


def test_a_lease_lasts_as_long_as_the_database_says() -> None:
    provider = make_provider()

    for offset in (NEAR, -NEAR):
        with _clock(offset):
            lease = take_lease(provider.pk, f"off by {offset}")
            assert lease is not None
            assert abs(lease.until - fetch_now() - settings.DNSADMIN_LEASE) < timedelta(seconds=1)
            assert take_lease(provider.pk, "another") is None
            raise_if_lost(lease)
        Provider.objects.update(lease_holder="", lease_until=None)


def test_a_worker_whose_clock_is_off_takes_no_lease_and_fails_no_transfer() -> None:
    with open_world(approval_policy=OTHER_PERSON) as world:
        transfer = approve(make_bob(), request(make_alice(), ask()))

        for offset in (-FAR, FAR):
            with _clock(offset):
                tick()
                run_transfer(transfer.pk)
                run_sync(world.provider.pk)
                expire_transfers()
                with pytest.raises(ClockOff):
                    take_lease(world.provider.pk, "off")
                with pytest.raises(CommandError, match="clock of this machine"):
                    call_command("dnsadmin_transfer", "resume", str(transfer.public_id))
            assert owners(world) == {BLUE: 10}
        finding = Finding.objects.get(kind=Finding.Kind.CLOCK_OFF)
        assert finding.state == Finding.State.OPEN
        assert "300 s ahead of the database's" in finding.explanation

        run_transfer(transfer.pk)
        sweep()

        assert owners(world) == {GREEN: 10}
        finding.refresh_from_db()
        assert finding.state == Finding.State.RESOLVED
        assert note_clock()


def test_what_is_due_and_what_is_expired_goes_by_the_database() -> None:
    with open_world(approval_policy=OTHER_PERSON) as world:
        transfer = approve(make_bob(), request(make_alice(), ask()))
        with _clock(timedelta(days=30)):
            assert expire_transfers() == 0
            assert due_transfers() == [transfer.pk]
        Transfer.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
        with _clock(-timedelta(days=30)):
            assert due_transfers() == []
            assert expire_transfers() == 1
        assert owners(world) == {BLUE: 10}
