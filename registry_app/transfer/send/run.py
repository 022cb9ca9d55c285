"""What one run of a transfer has in its hands: the row, the provider, the lease, the client."""

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from django.conf import settings
from django.db import transaction

from providers.client.provider_client import ProviderClient
from providers.registries.claim import TxtProfile
from providers.wire.json_codec import decode_records
from registry_app.crash_point import crash_point
from registry_app.mirror.believable import raise_if_unbelievable
from registry_app.mirror.open_stores import OpenStore
from registry_app.mirror.plausibility import count_shown
from registry_app.models import Provider, Transfer, TransferItem
from registry_app.reconcile.lease import Lease, raise_if_lost, renew_lease
from registry_app.transfer.plan.claim_key import ZONE
from registry_app.transfer.send.believable_store import KnownRows
from registry_app.transfer.send.believable_zone import KnownZone, count_shown_zone
from registry_app.transfer.send.live_zone import LiveZone, build_live_zone
from registry_app.transfer.send.store_changes import list_changes_to_make

_ROWS = 500


@dataclass
class Hold:
    """A transfer in the hands of the one worker that has its provider's lease."""

    transfer: Transfer
    provider: Provider
    lease: Lease

    def renew(self, exchanges: int = 1) -> None:
        """Keep the lease through the next exchanges with the provider or its stores. Raises LeaseLost."""
        self.lease = renew_lease(self.lease, seconds=exchanges * self.provider.deadline_seconds)

    def store_outcomes(self, outcomes: Mapping[int, tuple[str, str]]) -> None:
        """Set (status, reason) of items by primary key, while the lease is held. Raises LeaseLost."""
        with transaction.atomic():
            raise_if_lost(self.lease)
            store_outcomes(outcomes)
        crash_point("transfer.outcomes_stored")


@dataclass
class Run(Hold):
    """One run, able to speak to the provider and to the registry stores it has.

    `zone` is the last reading of all of them that the transfer touches, as far as it was kept. `batch` is
    the one under way.
    """

    client: ProviderClient
    profiles: dict[str, TxtProfile]
    stores: Mapping[str, OpenStore] = field(default_factory=dict)
    zone: LiveZone = field(default_factory=LiveZone)
    batch: int | None = None
    # The clock on the wall may jump while a run lasts.
    started: float = field(default_factory=time.monotonic)

    @cached_property
    def known_rows(self) -> KnownRows:
        return KnownRows(self.transfer)

    @cached_property
    def known_zone(self) -> KnownZone:
        return KnownZone(self.transfer)

    @property
    def store_names(self) -> dict[str, str]:
        return {reference: opened.name for reference, opened in self.stores.items()}

    def is_over_time(self) -> bool:
        """Whether it is to give way: no task lives for ever."""
        return time.monotonic() - self.started > settings.DNSADMIN_LONGEST_RUN.total_seconds()

    def read(self, names: set[str]) -> LiveZone:
        """What provider and stores show now at `names`. Raises ProviderError, WireError, LeaseLost."""
        self.renew()
        answer = self.client.records()
        decoded = decode_records(answer.body, max_items=self.provider.max_items)
        raise_if_unbelievable(self.provider, count_shown(decoded.endpoints))
        if decoded.endpoints:
            self.known_zone.raise_if_unbelievable(count_shown_zone(decoded.endpoints))
        zone = build_live_zone(decoded.endpoints, names)
        for reference in self.transfer.premises.get("stores", {}):
            self.renew()
            opened = self.stores[reference]
            claims = opened.store.fetch_claims()
            self.known_rows.raise_if_unbelievable(reference, opened.name, claims, batch=self.batch)
            mine = (claim for claim in claims if claim.key.name in names)
            zone = zone.with_store(reference, opened.name, mine)
        self.zone = zone
        return zone

    def send(self, store: str, body: bytes) -> None:
        """Send the stored body of a step to the provider, or to a registry store. Once.

        Raises NothingSent and OutcomeUnknown.
        """
        if store == ZONE:
            self.client.apply_changes(body)
        else:
            self.stores[store].store.write(list_changes_to_make(body))


def store_outcomes(outcomes: Mapping[int, tuple[str, str]]) -> None:
    """Set (status, reason) of items by primary key: one statement for each different pair and few hundred
    items. Inside the caller's transaction."""
    grouped: dict[tuple[str, str], list[int]] = {}
    for pk, outcome in outcomes.items():
        grouped.setdefault(outcome, []).append(pk)
    for (status, reason), pks in grouped.items():
        for start in range(0, len(pks), _ROWS):
            TransferItem.objects.filter(pk__in=pks[start : start + _ROWS]).update(
                status=status, status_reason=reason
            )


def name_run(transfer: Transfer) -> str:
    """The holder's name of a lease: which transfer, in which process."""
    return f"transfer {transfer.pk} {socket.gethostname()[:100]}:{os.getpid()}:{time.monotonic_ns()}"
