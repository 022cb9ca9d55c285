"""The right to sync a provider, for a limited time, with an epoch that fences every write (I14)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F, QuerySet

from registry_app.clock import TOLERANCE, compare_clocks, fetch_now
from registry_app.errors import ClockOff, LeaseLost
from registry_app.models import Provider
from registry_app.queries.provider import build_free_query


@dataclass(frozen=True)
class Lease:
    """Who may sync which provider, since when and until when. A later holder has a greater epoch."""

    provider_id: int
    epoch: int
    holder: str
    taken_at: datetime
    until: datetime


def take_lease(provider_id: int, holder: str) -> Lease | None:
    """The lease, if it is free or its time is over; None if somebody has it (or there is no provider).

    Its time is by the database's clock. Raises ClockOff where this machine's differs from that: what runs
    under a lease looks at its own clock too.
    """
    now, offset = compare_clocks()
    _raise_if_clock_off(offset)
    until = now + settings.DNSADMIN_LEASE
    taken = Provider.objects.filter(build_free_query(now), pk=provider_id).update(
        lease_epoch=F("lease_epoch") + 1, lease_holder=holder, lease_until=until
    )
    if not taken:
        return None
    epoch = (
        Provider.objects.filter(pk=provider_id, lease_holder=holder)
        .values_list("lease_epoch", flat=True)
        .first()
    )
    return Lease(provider_id, epoch, holder, now, until) if epoch is not None else None


def renew_lease(lease: Lease, *, seconds: float = 0, now: datetime | None = None) -> Lease:
    """The lease for another lease time, and `seconds` more for what is about to take long. `now` is for who
    has just read the database's clock.

    Raises LeaseLost if another run has it. A lease whose time is over and that nobody took is renewed.
    """
    until = (now or fetch_now()) + settings.DNSADMIN_LEASE + timedelta(seconds=seconds)
    if not held_by(lease).update(lease_until=until):
        raise _lost(lease)
    return replace(lease, until=until)


def raise_if_lost(lease: Lease) -> None:
    """The fence: inside a transaction, nobody can take the lease until it ends. Raises LeaseLost."""
    # An UPDATE, not a SELECT: it takes the row lock on PostgreSQL and the write lock on SQLite.
    store_under_lease(lease, lease_epoch=lease.epoch)


def store_under_lease(lease: Lease, **values: object) -> None:
    """Fields of the provider, and the fence in the same statement. Raises LeaseLost."""
    if not held_by(lease).update(**values):
        raise _lost(lease)


def release_lease(lease: Lease) -> None:
    """Give the lease back. Nothing happens if it was lost."""
    held_by(lease).update(lease_holder="", lease_until=None)


def held_by(lease: Lease) -> "QuerySet[Provider]":
    """Its provider, as long as the lease is not lost."""
    return Provider.objects.filter(pk=lease.provider_id, lease_epoch=lease.epoch, lease_holder=lease.holder)


def _lost(lease: Lease) -> LeaseLost:
    return LeaseLost(
        f"The lease of provider {lease.provider_id} (epoch {lease.epoch}) was lost to another run.",
        now="Nothing was stored by this run.",
        todo="Nothing to do: the run that has the lease, or the next one, reads again.",
    )


def _raise_if_clock_off(offset: timedelta) -> None:
    if abs(offset) > TOLERANCE:
        raise ClockOff(
            f"The clock of this machine is {abs(offset.total_seconds()):.0f} s "
            f"{'ahead of' if offset > timedelta(0) else 'behind'} the database's.",
            now="Nothing was read or sent.",
            todo="Set the clock, for example with chrony or systemd-timesyncd.",
        )
