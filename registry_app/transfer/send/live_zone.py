"""What a provider and its registry stores show now, and how it differs from what was reviewed. Pure.

`LiveZone` is a reading of the names of one batch; `LiveFacts` is a whole snapshot, with owners.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import NamedTuple

from providers.registries.claim import Claim, ClaimVerdict, OwnershipState, PairedEndpoint
from providers.registries.ownership import is_alias
from providers.registries.stored_claim import StoredClaim
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.change_set import merge_parts
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.mirror.snapshot import Snapshot
from registry_app.transfer.plan.claim_key import (
    ZONE,
    ClaimKey,
    EndpointDict,
    build_row,
    build_row_key,
    describe_place,
    endpoint_key_of,
)

_DECIDING = (ClaimVerdict.EFFECTIVE, ClaimVerdict.CONFLICTING)


@dataclass(frozen=True)
class LiveZone:
    """Endpoints of the zone by identity, and the rows of registry stores by their place.

    Several endpoints with one identity are one here, with all their targets; `parts` are those endpoints as
    they were read. What is not reliable is in `unreliable` with the reason, and never written to.
    `stores` are the names of the stores that were read.
    """

    endpoints: dict[EndpointKey, Endpoint] = field(default_factory=dict)
    rows: Mapping[ClaimKey, Endpoint] = field(default_factory=dict)
    unreliable: Mapping[ClaimKey, str] = field(default_factory=dict)
    stores: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[EndpointKey, Sequence[Endpoint]] = field(default_factory=dict)

    def find(self, key: ClaimKey) -> Endpoint | None:
        """The TXT endpoint, or the row, at `key`; None if there is none."""
        return self.rows.get(key) if key.store else self.endpoints.get(endpoint_key_of(key))

    def with_store(self, store: str, name: str, claims: Iterable[StoredClaim]) -> "LiveZone":
        """This zone and what one more registry store shows at the same names."""
        texts: dict[ClaimKey, list[str]] = defaultdict(list)
        unreliable = dict(self.unreliable)
        for claim in claims:
            key = build_row_key(store, claim.key)
            texts[key].append(claim.text)
            if claim.problem:
                unreliable[key] = claim.problem
        # Sorted: a store gives the rows of several owners in any order.
        rows = {key: build_row(key, sorted(each)) for key, each in texts.items()}
        return replace(
            self, rows={**self.rows, **rows}, unreliable=unreliable, stores={**self.stores, store: name}
        )


def build_live_zone(endpoints: Iterable[Endpoint], names: Collection[str]) -> LiveZone:
    """The endpoints at `names` (canonical). Others are not kept: a zone may hold a million."""
    found: dict[EndpointKey, list[Endpoint]] = defaultdict(list)
    for endpoint in endpoints:
        try:
            key = endpoint_key(endpoint)
        except InvalidName:
            continue  # nothing that is transferred has a name that cannot be read
        if key.name in names:
            found[key].append(endpoint)
    merged = {key: merge_parts(parts) for key, parts in found.items()}
    return LiveZone(merged, parts={key: parts for key, parts in found.items() if len(parts) > 1})


class ExistingRecord(NamedTuple):
    """A record set at the name of an item; `owner_id` is empty unless it is owned."""

    key: EndpointKey
    owner_id: str
    is_alias: bool


class LiveFacts:
    """What a snapshot shows, by place and by record set. `stores` are the names of registry stores."""

    def __init__(self, snapshot: Snapshot, stores: Mapping[str, str]) -> None:
        self.snapshot = snapshot
        self.stores = stores
        self.records = {record.key: record for record in snapshot.records}
        self.unreliable: dict[ClaimKey, str] = {}
        self._endpoints: dict[ClaimKey, Endpoint] = {}
        self.claim_keys = [claim_key_of_claim(claim) for claim in snapshot.claims]
        self._read_txts()
        self._read_rows()
        self._decided: dict[tuple[ClaimKey | None, str], EndpointKey] = {}
        for record in snapshot.records:
            for index in record.claims:
                if snapshot.claims[index].verdict in _DECIDING:
                    self._decided[self.claim_keys[index], snapshot.claims[index].raw] = record.key

    def find(self, key: ClaimKey) -> Endpoint | None:
        """The TXT endpoint, or the row, at `key`; None if there is none."""
        if key.store != ZONE:
            return self._endpoints.get(key)
        record = self.records.get(endpoint_key_of(key))
        return self._endpoints.get(key) or (record.endpoint if record else None)

    def records_at(self, name: str) -> Iterator[ExistingRecord]:
        """All record sets at a canonical name."""
        records = self.snapshot.records
        for place in range(bisect_left(records, (name,), key=attrgetter("key")), len(records)):
            record = records[place]
            if record.key.name != name:
                return
            yield ExistingRecord(record.key, record.owner_id, is_alias(record.endpoint))

    def decided_by(self, key: ClaimKey, target: str) -> EndpointKey | None:
        """The record set whose owner this claim decides, or makes a conflict."""
        return self._decided.get((key, target))

    def places_claiming(self, key: EndpointKey, *, are_deciding: bool = False) -> set[ClaimKey]:
        """The places of the claims that decide the owner of a record set, or leave it undecided; with
        `are_deciding`, only the former and those that conflict."""
        record = self.records.get(key)
        if record is None:
            return set()
        indexes = self.list_counting(record)
        if are_deciding:
            indexes = [index for index in indexes if self.snapshot.claims[index].verdict in _DECIDING]
        return {each for index in indexes if (each := self.claim_keys[index]) is not None}

    def list_counting(self, record: PairedEndpoint) -> list[int]:
        """The readable claims that decide the owner of a record set, or leave it undecided. If it is owned,
        those of its owner: ExternalDNS does not use the others."""
        claims = self.snapshot.claims
        if record.state == OwnershipState.OWNED:
            return [index for index in record.claims if claims[index].owner_id == record.owner_id]
        return [index for index in record.claims if claims[index].owner_id]

    def find_ignored_claim(self, record: PairedEndpoint, known: Collection[str]) -> str:
        """The place of a claim that ExternalDNS does not use, of an owner that is not `known`."""
        counting = self.list_counting(record)
        for index in record.claims:
            owner_id, key = self.snapshot.claims[index].owner_id, self.claim_keys[index]
            if owner_id and index not in counting and owner_id not in known and key is not None:
                return describe_place(key, self.stores)
        return ""

    def _read_txts(self) -> None:
        for key, claim in zip(self.claim_keys, self.snapshot.claims, strict=True):
            if key is None or key.store != ZONE:
                continue
            self._endpoints[key] = claim.endpoint

    def _read_rows(self) -> None:
        texts: dict[ClaimKey, list[str]] = defaultdict(list)
        for key, claim in zip(self.claim_keys, self.snapshot.claims, strict=True):
            if key is None or key.store == ZONE:
                continue
            texts[key].append(claim.raw)
            if claim.verdict == ClaimVerdict.UNREADABLE:
                place = describe_place(key, self.stores)
                self.unreliable[key] = f"The response for {place} is not reliable: {claim.problem}"
        self._endpoints.update({key: build_row(key, each) for key, each in texts.items()})


def claim_key_of_claim(claim: Claim) -> ClaimKey | None:
    """The place of a claim; None if its TXT name cannot be read."""
    if not claim.is_in_zone:
        record = EndpointKey(claim.record_name, claim.record_type, claim.set_identifier)
        return build_row_key(claim.profile.reference, record)
    try:
        return ClaimKey(ZONE, *endpoint_key(claim.endpoint))
    except InvalidName:
        return None


class Unsendable(Exception):
    """What is at a place is neither as reviewed nor as wanted. The message says what is there."""


def is_as_reviewed(live: Endpoint | None, reviewed: EndpointDict | None) -> bool:
    """Whether a place holds what was reviewed: the same targets, byte for byte, in any order."""
    if live is None or reviewed is None:
        return live is None and reviewed is None
    targets = reviewed["targets"]
    return list(live.targets) == targets or sorted(live.targets) == sorted(targets)


def describe_difference(
    key: ClaimKey, live: Endpoint | None, reviewed: EndpointDict | None, stores: Mapping[str, str]
) -> str:
    """What is at a place instead of what was reviewed. `stores` are the names of registry stores."""
    place = describe_place(key, stores)
    sentence = f"{place[0].upper()}{place[1:]}"
    if live is None:
        return f"{sentence} is gone."
    if reviewed is None:
        return f"{sentence} is where a new claim was to be written."
    return f"{sentence} holds {_quote(live.targets)}, not what was reviewed."


def _quote(targets: Iterable[str]) -> str:
    return ", ".join(target[:300] for target in targets)
