"""A transfer under its provider's lease, and the write session in which it is sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from providers.registries.claim import TxtProfile
from providers.registries.stored_claim import StoredClaimChange
from providers.wire.json_codec import decode_records
from registry_app.crash_point import crash_point
from registry_app.mirror.baseline import compare_with_known, raise_if_implausible
from registry_app.mirror.plausibility import count_endpoints
from registry_app.models import Transfer, TransferItem
from registry_app.transfer.send.known_beside import KnownRows, KnownZone, count_shown_zone
from registry_app.transfer.send.live_zone import LiveZone, build_live_zone
from registry_app.transfer.send.store_changes import list_changes_to_make
from registry_app.writes.session import LeasedProvider, WriteSession

_ROWS = 500

ItemOutcome = tuple[str, str]  # TransferItem.Status value, reason


@dataclass(kw_only=True)
class LeasedTransfer(LeasedProvider):
    """A transfer in the hands of the one worker that has its provider's lease."""

    transfer: Transfer

    def store_outcomes(self, outcomes: Mapping[int, ItemOutcome]) -> None:
        """Set (status, reason) of items by primary key, while the lease is held. Raises LeaseLost."""
        with self.fenced():
            store_outcomes(outcomes)
        crash_point("transfer.outcomes_stored")


@dataclass(kw_only=True)
class TransferSession(WriteSession, LeasedTransfer):
    """A transfer that is being sent.

    `zone` is the last reading of all that the transfer touches, provider and registry stores, as far as it
    was kept. `batch` is the one under way.
    """

    zone: LiveZone = field(default_factory=LiveZone)
    batch: int | None = None

    @cached_property
    def known_rows(self) -> KnownRows:
        return KnownRows(self.transfer)

    @cached_property
    def known_zone(self) -> KnownZone:
        return KnownZone(self.transfer)

    @cached_property
    def txt_profiles(self) -> dict[str, TxtProfile]:
        """The profiles of TXT claims, by their reference."""
        return {profile.reference: profile for profile in self.profiles}

    @property
    def store_names(self) -> dict[str, str]:
        return {reference: opened.name for reference, opened in self.stores.items()}

    def parse_rows(self, body: bytes) -> list[StoredClaimChange]:
        return list_changes_to_make(body)

    def read(self, names: set[str]) -> LiveZone:
        """What provider and stores show now at `names`. Raises ProviderError, WireError, LeaseLost."""
        self.renew()
        answer = self.client.records()
        decoded = decode_records(answer.body, max_items=self.provider.max_items)
        counts = count_endpoints(decoded.endpoints)
        found = compare_with_known(self.provider, counts, len(decoded.endpoints))
        raise_if_implausible(self.provider, found)
        if decoded.endpoints:
            self.known_zone.raise_if_implausible(count_shown_zone(decoded.endpoints))
        zone = build_live_zone(decoded.endpoints, names)
        for reference in self.transfer.preconditions.get("stores", {}):
            self.renew()
            opened = self.stores[reference]
            claims = opened.store.fetch_claims()
            self.known_rows.raise_if_implausible(reference, opened.name, claims, batch=self.batch)
            mine = (claim for claim in claims if claim.key.name in names)
            zone = zone.with_store(reference, opened.name, mine)
        self.zone = zone
        return zone


def store_outcomes(outcomes: Mapping[int, ItemOutcome]) -> None:
    """Set (status, reason) of items by primary key: one statement for each different pair and few hundred
    items. Inside the caller's transaction."""
    grouped: dict[ItemOutcome, list[int]] = {}
    for pk, outcome in outcomes.items():
        grouped.setdefault(outcome, []).append(pk)
    for (status, reason), pks in grouped.items():
        for start in range(0, len(pks), _ROWS):
            TransferItem.objects.filter(pk__in=pks[start : start + _ROWS]).update(
                status=status, status_reason=reason
            )
