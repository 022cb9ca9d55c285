"""The lease of a provider, and with it what is needed to write there: client, registry stores, profiles."""

import os
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from django.conf import settings
from django.db import transaction

from providers.client.provider_client import ProviderClient
from providers.registries.claim import TxtProfile
from providers.registries.stored_claim import StoredClaimChange
from registry_app.clock import fetch_now
from registry_app.errors import StateMoved
from registry_app.mirror.client import build_client
from registry_app.mirror.open_stores import OpenStore, fetch_contents, open_stores
from registry_app.mirror.registries import (
    Registries,
    build_registries,
    build_txt_profiles,
    fetch_profiles_at,
)
from registry_app.mirror.snapshot import Snapshot, build_snapshot
from registry_app.mirror.view import AtNames
from registry_app.models import Provider
from registry_app.reconcile.lease import Lease, raise_if_lost, release_lease, renew_lease, take_lease
from registry_app.writes.zone_reader import ZoneReader, ZoneReading

Session = TypeVar("Session", bound="WriteSession")


class ProviderBusy(StateMoved):
    """Somebody else has the provider's lease."""

    code = "provider_busy"


@dataclass(kw_only=True)
class LeasedProvider:
    """A provider whose lease this process has."""

    provider: Provider
    lease: Lease

    def renew(self, exchanges: int = 1) -> None:
        """Keep the lease through the next exchanges with the provider or its stores. Raises LeaseLost."""
        self.lease = renew_lease(self.lease, seconds=exchanges * self.provider.deadline_seconds)

    def sync_soon(self) -> None:
        """Have the scheduler sync the provider at its next tick: the mirror may be behind."""
        Provider.objects.filter(pk=self.provider.pk).update(next_sync_at=fetch_now())

    @contextmanager
    def fenced(self) -> Iterator[None]:
        """A transaction in which nobody else can take the lease. Raises LeaseLost where somebody did."""
        with transaction.atomic():
            raise_if_lost(self.lease)
            yield


@dataclass(kw_only=True)
class WriteSession(LeasedProvider):
    """A leased provider, with the clients to read it and to write to it and to its registry stores.

    `stores` are named by their registry profile's primary key, as text.
    """

    client: ProviderClient
    profiles: tuple[TxtProfile, ...]
    registries: Registries
    stores: Mapping[str, OpenStore]
    # The wall clock may be set while a session lasts.
    started: float = field(default_factory=time.monotonic)

    @cached_property
    def zone_reader(self) -> ZoneReader:
        """Reads the provider. The same one each time: it compares a response with the one before."""
        return ZoneReader(self.provider, self.client, self.profiles)

    def read_stores(self, reading: ZoneReading, names: Collection[str] | None = None) -> Snapshot:
        """What the registry stores show now, with what the provider showed: the record sets and claims at the
        names that were read, or all. With `names`, at these alone. Raises ProviderError."""
        contents, answer = fetch_contents(self.stores.values(), names), reading.answer
        names = reading.names if names is None else names
        snapshot = build_snapshot(
            reading.decoded,
            self.profiles,
            self.registries,
            contents,
            body=answer.body,
            body_digest="",  # that is for syncs: it takes as long as cutting the elements
            content_type=answer.content_type,
            fetch_seconds=answer.seconds,
            view=None if names is None else AtNames(names),
        )
        return replace(snapshot, shown=reading.shown, item_count=reading.item_count)

    def is_over_time(self) -> bool:
        """Whether to stop here and go on later: no task runs without end."""
        return time.monotonic() - self.started > settings.DNSADMIN_LONGEST_RUN.total_seconds()

    def send(self, store: str, body: bytes) -> None:
        """Send the body of a step once: to the provider, or to the named registry store.

        Raises NothingSent and OutcomeUnknown.
        """
        if store:
            self.stores[store].store.write(self.parse_rows(body))
        else:
            self.client.apply_changes(body)

    def parse_rows(self, body: bytes) -> list[StoredClaimChange]:
        """What the body of a step changes in a registry store. Each user of the engine has its own format."""
        raise NotImplementedError


@contextmanager
def leased_provider(provider_id: int, purpose: str) -> Iterator[LeasedProvider]:
    """The provider as it is now, under its lease. `purpose` is shown as the lease's holder.

    Raises ProviderBusy and ClockOff.
    """
    holder = f"{purpose} {socket.gethostname()[:100]}:{os.getpid()}:{time.monotonic_ns()}"
    lease = take_lease(provider_id, holder)
    # Read under the lease: whoever had it before may have changed the row. With its secrets: it is about to
    # be read or changed.
    provider = Provider.objects.defer(None).get(pk=provider_id)
    if lease is None:
        raise ProviderBusy(
            f"Another worker has {provider.name} right now: a sync, a transfer or another run.",
            now="Nothing was read or sent.",
            todo="Try again in a moment.",
        )
    try:
        yield LeasedProvider(provider=provider, lease=lease)
    finally:
        release_lease(lease)


@contextmanager
def open_session(
    leased: LeasedProvider, build: Callable[..., Session], *, seconds: float | None = None
) -> Iterator[Session]:
    """A write session at a leased provider, for as long as the block lasts.

    `build` makes the session from the fields of WriteSession. With `seconds` no call takes longer.
    Raises SecretUnavailable and ProviderError.
    """
    found = fetch_profiles_at(leased.provider)
    registries = build_registries(leased.provider, found)
    with build_client(leased.provider, seconds=seconds) as client:
        yield build(
            provider=leased.provider,
            lease=leased.lease,
            client=client,
            profiles=tuple(build_txt_profiles(found)),
            registries=registries,
            stores=dict(open_stores(leased.provider, client, remembers=True)) if registries.are_any else {},
        )
