"""What one run has in its hands: the provider, its lease, and how it is read."""

import os
import socket
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from providers.client.provider_client import ProviderClient
from providers.planning.equal_values import EqualValues
from providers.registries.claim import TxtProfile
from providers.registries.neighbourhood import Neighbourhood
from providers.wire.domain_filter import DomainFilter
from providers.wire.property_values import ValuePair
from registry_app.clock import fetch_now
from registry_app.errors import RefusedBySafety, StateMoved
from registry_app.mirror.believable import (
    raise_if_claims_are_gone,
    raise_if_stores_unbelievable,
    raise_if_unbelievable,
)
from registry_app.mirror.client import build_client
from registry_app.mirror.domain_filter import fetch_domain_filter, read_known_filter
from registry_app.mirror.open_stores import OpenStore, open_stores
from registry_app.mirror.plausibility import NOTHING, Shown
from registry_app.mirror.profiles import fetch_txt_profiles
from registry_app.mirror.registries import Registries, fetch_registries
from registry_app.mirror.snapshot import Snapshot, fetch_snapshot
from registry_app.mirror.view import View
from registry_app.models import Provider
from registry_app.reconcile.lease import Lease, release_lease, renew_lease, take_lease

# Values that decide anything are few; a provider that shows more of them would be asked for ever.
_MOST_QUESTIONS = 1_000


@dataclass
class Hold:
    """A provider in the hands of the one worker that has its lease.

    `removed` counts what this run had deleted, or may have: it is not missed. `asked` are
    the pairs of property values that the provider was asked about.
    """

    provider: Provider
    lease: Lease
    client: ProviderClient
    profiles: tuple[TxtProfile, ...]
    registries: Registries
    stores: dict[str, OpenStore]
    removed: Shown = NOTHING
    asked: set[ValuePair] = field(default_factory=set)
    _equal: frozenset[ValuePair] = frozenset()
    _neighbourhood: Neighbourhood | None = None
    # The clock on the wall may jump while a run lasts.
    started: float = field(default_factory=time.monotonic)

    def renew(self) -> None:
        """Keep the lease through the next exchange with the provider. Raises LeaseLost."""
        self.lease = renew_lease(self.lease, seconds=self.provider.deadline_seconds)

    def read(self, names: Collection[str] | None = None) -> Snapshot:
        """All the provider and its registry stores show now. Raises ProviderError, WireError, LeaseLost.

        With canonical `names`, what is shown elsewhere need not be in the snapshot: understanding it again
        after each batch would cost what the whole zone costs.
        """
        self.renew()
        snapshot = fetch_snapshot(
            self.provider,
            self.client,
            self.profiles,
            self.registries,
            self.stores.values(),
            view=self._build_view(names),
        )
        raise_if_unbelievable(self.provider, snapshot.shown, self.removed)
        if self.registries.stores or self.registries.aws_sd:
            raise_if_stores_unbelievable(self.provider, snapshot)
        else:
            raise_if_claims_are_gone(self.provider, snapshot.shown, self.removed)
        return snapshot

    def _build_view(self, names: Collection[str] | None) -> View | None:
        # Whether a registry store lost claims only the whole of it tells.
        if names is None or self.registries.stores or self.registries.aws_sd:
            return None
        self._neighbourhood = self._neighbourhood or Neighbourhood(self.profiles)
        return View(self._neighbourhood, names)

    def find_equal_values(self, pairs: Iterable[ValuePair]) -> EqualValues:
        """What the provider says of these property values, where its protocol has a word for it.

        Each pair is asked about once, and a thousand at most: the others are as they are written. Raises
        LeaseLost.
        """
        self.renew()
        self._equal |= self.client.find_equal_values(self._note_asked(pairs))
        return EqualValues(self._equal)

    def _note_asked(self, pairs: Iterable[ValuePair]) -> Iterator[ValuePair]:
        for pair in pairs:
            if pair not in self.asked and len(self.asked) < _MOST_QUESTIONS:
                self.asked.add(pair)
                yield pair

    def negotiate(self) -> DomainFilter:
        """The names the provider manages, as it says now.

        Raises ProviderError, LeaseLost, and RefusedBySafety where it said something else before.
        """
        self.renew()
        known = read_known_filter(self.provider.domain_filter)
        said = fetch_domain_filter(self.client, fetch_now())
        if known is not None and not known.says_the_same(said):
            raise RefusedBySafety(
                f"{self.provider.name} negotiated another domain filter than at its last visit: another "
                "service may answer there, or one with other settings.",
                now="Nothing was planned or sent.",
                todo="Visit the provider, and decide on what is held for review.",
                code="domain_filter_changed",
            )
        return DomainFilter(said.include, said.exclude, said.regex_include, said.regex_exclude)


def take_lease_or_leave(provider: Provider) -> Lease:
    """Raises StateMoved where somebody else has it."""
    lease = take_lease(provider.pk, _name_run())
    if lease is None:
        raise StateMoved(
            f"Another worker has {provider.name} right now: a visit, a transfer or another run.",
            now="Nothing was read or sent.",
            todo="Try again in a moment.",
            code="provider_busy",
        )
    return lease


@contextmanager
def holding(provider: Provider, lease: Lease) -> Iterator[Hold]:
    """The provider, ready to be spoken to. Raises SecretUnavailable, ProviderError. The lease is given back
    by whoever took it."""
    profiles = tuple(fetch_txt_profiles(provider))
    with build_client(provider) as client:
        stores = dict(open_stores(provider, client, remembers=True))
        yield Hold(provider, lease, client, profiles, fetch_registries(provider), stores)


@contextmanager
def leased(provider: Provider) -> Iterator[Hold]:
    """Take the lease, hold the provider, give the lease back. Raises as both."""
    lease = take_lease_or_leave(provider)
    try:
        with holding(provider, lease) as hold:
            yield hold
    finally:
        release_lease(lease)


def _name_run() -> str:
    return f"loop {socket.gethostname()[:100]}:{os.getpid()}:{time.monotonic_ns()}"
