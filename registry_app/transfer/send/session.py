"""The write session of a transfer: what it reads, and whether that is plausible.

A sync would hold a response that lacks too much. Such a response in the middle of a transfer must not show
that a claim is gone, nor that one was never written: it is compared with what the transfer does not change.
"""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

from providers.client.provider_client import RecordsAnswer
from providers.registries.claim import TxtProfile
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from registry_app.crash_point import crash_point
from registry_app.mirror.baseline import (
    ImplausibleResponse,
    compare_with_known,
    count_typed,
    raise_if_implausible,
    thresholds_of,
)
from registry_app.mirror.element_index import ElementKind, Tally, compute_name_key
from registry_app.mirror.plausibility import (
    Comparison,
    Counts,
    compare_counts,
    find_reasons,
)
from registry_app.models import Claim, Transfer, TransferItem
from registry_app.reconcile.rows.bulk import read_json, select_json
from registry_app.transfer.plan.claim_key import ZONE, claim_key_of
from registry_app.transfer.send.change_sets import list_changes_to_make
from registry_app.transfer.send.item_plan import ItemOutcome
from registry_app.transfer.send.live_zone import LiveZone, build_live_zone
from registry_app.writes.session import LeasedProvider, WriteSession
from registry_app.writes.zone_reader import ZoneReading

_CHUNK = 5_000
_ITEM = TransferItem.Status


class UnchangedZone:
    """What the mirror has of a zone that a transfer does not change. Read once: it stays the same."""

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer

    def raise_if_implausible(self, reading: ZoneReading) -> None:
        """Raise ImplausibleResponse if too little is shown of what the transfer does not change."""
        provider, records = self._transfer.provider, reading.shown.typed
        claims = _count_claims(reading.tally)
        beside = claims - _count_claims(reading.tally.at(self._own_name_keys))
        counts, items = Counts(records, 0, beside), records + claims
        # Compared with the provider's counts first: mostly that is enough, and no rows are read.
        whole = compare_counts(Counts(provider.record_set_count, 0, provider.claim_count), counts, items)
        if find_reasons(whole, thresholds_of(provider)):
            known = Counts(self._record_count, 0, self._claim_count)
            raise_if_implausible(provider, compare_counts(known, counts, items))

    @cached_property
    def _own_name_keys(self) -> frozenset[int]:
        return frozenset(map(compute_name_key, self.own_names))

    @cached_property
    def own_names(self) -> frozenset[str]:
        """The names at which the transfer has, or is to have, claims in the zone."""
        columns = select_json("before"), select_json("after")
        sides = self._transfer.items.order_by().values_list(*columns).iterator(chunk_size=500)
        keys = (claim_key_of(endpoint) for row in sides for side in row for endpoint in read_json(side))
        return frozenset(key.name for key in keys if key.store == ZONE)

    @cached_property
    def _record_count(self) -> int:
        return count_typed(self._transfer.provider)

    @cached_property
    def _claim_count(self) -> int:
        rows = Claim.objects.filter(provider=self._transfer.provider_id).exclude(txt_name="")
        places = rows.order_by().values_list("txt_name", "set_identifier").distinct()
        return sum(name not in self.own_names for name, _ in places.iterator(chunk_size=_CHUNK))


class UnchangedRows:
    """The rows of a transfer's stores that the current batch does not change.

    Rows that the transfer does not change are in the mirror, read once. If the transfer changes every row of
    a store, the rows of its other batches are expected there: those that wait, and those that were read back.
    If one batch removes every row of a store, an empty store is as requested: that every claim that must
    stay exists was read before, and the next sync shows rows that exist after all.
    """

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer
        self._names: frozenset[str] | None = None
        self._known: dict[str, int] = {}

    def raise_if_implausible(
        self, reference: str, name: str, claims: Collection[StoredClaim], *, batch: int | None = None
    ) -> None:
        """Raise ImplausibleResponse if rows that the current batch does not change are missing in a registry
        profile's store: then other missing rows prove nothing.

        `batch` is the current one; None before the first.
        """
        provider = self._transfer.provider
        known = self._count_known(reference)
        shown = self._count_beside(claims) if known else 0
        # Record sets are not compared here: some claims may be gone together with their record sets.
        is_too_few = thresholds_of(provider).is_too_few(shown, known)
        lost = known - shown if is_too_few else 0
        found = Comparison(len(claims), claims_known=known, claims_seen=shown, claims_lost=lost, owned=known)
        raise_if_implausible(provider, found, place=name)
        if not claims and batch is not None and self._has_rows_beside(reference, batch):
            raise ImplausibleResponse(
                f"The response of {name} is implausible. It shows no claim at all, where other batches have "
                "theirs."
            )

    def _has_rows_beside(self, reference: str, batch: int) -> bool:
        """Whether another batch has a row in the store that is to stay: one that waits, or is done."""
        others = self._transfer.items.exclude(batch=batch).order_by()
        for status, place in ((_ITEM.PENDING, "before"), (_ITEM.VERIFIED, "after")):
            rows = others.filter(status=status).values_list(place, flat=True).iterator(chunk_size=500)
            if any(claim_key_of(each).store == reference for row in rows for each in row):
                return True
        return False

    def _count_known(self, reference: str) -> int:
        if reference not in self._known:
            rows = Claim.objects.filter(provider=self._transfer.provider_id, registry_profile=int(reference))
            beside = rows.exclude(record_name__in=self._transfer.items.order_by().values("name"))
            self._known[reference] = beside.count()
        return self._known[reference]

    def _count_beside(self, claims: Iterable[StoredClaim]) -> int:
        if self._names is None:
            self._names = frozenset(self._transfer.items.order_by().values_list("name", flat=True))
        return sum(claim.key.name not in self._names for claim in claims)


def _count_claims(tally: Tally) -> int:
    return tally.count(ElementKind.CLAIMS, ElementKind.TEXTS_AND_CLAIMS)


@dataclass(kw_only=True)
class LeasedTransfer(LeasedProvider):
    """A transfer whose provider's lease this process has."""

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
    was kept. `batch` is the one under way. `answer` is the provider's last plausible response, None if
    something may have been sent since.
    """

    zone: LiveZone = field(default_factory=LiveZone)
    batch: int | None = None
    answer: RecordsAnswer | None = None

    @cached_property
    def unchanged_rows(self) -> UnchangedRows:
        return UnchangedRows(self.transfer)

    @cached_property
    def unchanged_zone(self) -> UnchangedZone:
        return UnchangedZone(self.transfer)

    @cached_property
    def txt_profiles(self) -> dict[str, TxtProfile]:
        """The profiles of TXT claims, by their reference."""
        return {profile.reference: profile for profile in self.profiles}

    @property
    def store_names(self) -> dict[str, str]:
        return {reference: opened.name for reference, opened in self.stores.items()}

    def send(self, store: str, body: bytes) -> None:
        self.answer = None
        super().send(store, body)

    def parse_rows(self, body: bytes) -> list[StoredClaimChange]:
        return list_changes_to_make(body)

    def list_names(self) -> set[str]:
        """All names that the transfer is about: those of its record sets and of their claims."""
        names = self.transfer.items.order_by().values_list("name", flat=True).iterator(chunk_size=_CHUNK)
        return {*names, *self.unchanged_zone.own_names}

    def read(self, names: Set[str]) -> LiveZone:
        """What provider and stores show now at `names`. Raises ProviderError, WireError, LeaseLost."""
        self.renew()
        reading = self.zone_reader.read(names)
        self.raise_if_implausible(reading)
        self.answer = reading.answer
        zone = build_live_zone(reading.decoded.endpoints, names)
        for reference in self.transfer.preconditions.get("stores", {}):
            self.renew()
            opened = self.stores[reference]
            claims = opened.store.fetch_claims()
            self.unchanged_rows.raise_if_implausible(reference, opened.name, claims, batch=self.batch)
            mine = (claim for claim in claims if claim.key.name in names)
            zone = zone.with_store(reference, opened.name, mine)
        self.zone = zone
        return zone

    def raise_if_implausible(self, reading: ZoneReading) -> None:
        """Raise ImplausibleResponse where a sync would hold the response, or where it lacks too much of what
        the transfer does not change."""
        found = compare_with_known(self.provider, reading.shown, reading.endpoint_count)
        raise_if_implausible(self.provider, found)
        if reading.endpoint_count:
            self.unchanged_zone.raise_if_implausible(reading)


def store_outcomes(outcomes: Mapping[int, ItemOutcome]) -> None:
    """Set (status, reason) of items by primary key: one statement for each different pair. Inside the
    caller's transaction."""
    grouped: dict[ItemOutcome, list[int]] = {}
    for pk, outcome in outcomes.items():
        grouped.setdefault(outcome, []).append(pk)
    for (status, reason), pks in grouped.items():
        TransferItem.objects.filter(pk__among=pks).update(status=status, status_reason=reason)
