"""A fresh snapshot, ready to be asked what stands at a place and what it decides. Pure."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from operator import attrgetter

from providers.registries.claim import TXT_REGISTRY, Claim, ClaimVerdict, OwnershipState, PairedEndpoint
from providers.registries.ownership import is_alias
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.mirror.snapshot import Snapshot
from registry_app.transfer.plan.claim_key import (
    ZONE,
    ClaimKey,
    build_row,
    build_row_key,
    describe_place,
    endpoint_key_of,
)
from registry_app.transfer.send.given_back import Standing

_DECIDING = (ClaimVerdict.EFFECTIVE, ClaimVerdict.CONFLICTING)


class LiveFacts:
    """What a snapshot says, by place and by record set. `stores` are the names of registry stores."""

    def __init__(self, snapshot: Snapshot, stores: Mapping[str, str]) -> None:
        self.snapshot = snapshot
        self.stores = stores
        self.records = {record.key: record for record in snapshot.records}
        self.doubtful: dict[ClaimKey, str] = {}
        self._standing: dict[ClaimKey, Endpoint] = {}
        self._keys = [claim_key_of_claim(claim) for claim in snapshot.claims]
        self._read_txts()
        self._read_rows()
        self._decided: dict[tuple[ClaimKey | None, str], EndpointKey] = {}
        for record in snapshot.records:
            for index in record.claims:
                if snapshot.claims[index].verdict in _DECIDING:
                    self._decided[self._keys[index], snapshot.claims[index].raw] = record.key

    def standing(self, key: ClaimKey) -> Endpoint | None:
        """The TXT endpoint, or the row, at `key`; None if there is none."""
        if key.store != ZONE:
            return self._standing.get(key)
        record = self.records.get(endpoint_key_of(key))
        return self._standing.get(key) or (record.endpoint if record else None)

    def standing_at(self, name: str) -> Iterator[Standing]:
        """All record sets at a canonical name."""
        records = self.snapshot.records
        for place in range(bisect_left(records, (name,), key=attrgetter("key")), len(records)):
            record = records[place]
            if record.key.name != name:
                return
            yield Standing(record.key, record.owner_id, is_alias(record.endpoint))

    def decided_by(self, key: ClaimKey, target: str) -> EndpointKey | None:
        """A record set whose owner this claim decides, or helps to leave undecided."""
        return self._decided.get((key, target))

    def places_claiming(self, key: EndpointKey, *, are_deciding: bool = False) -> set[ClaimKey]:
        """Where the claims stand that have a part in whose a record set is, or that decide it."""
        record = self.records.get(key)
        if record is None:
            return set()
        indexes = self.list_counting(record)
        if are_deciding:
            indexes = [index for index in indexes if self.snapshot.claims[index].verdict in _DECIDING]
        return {each for index in indexes if (each := self._keys[index]) is not None}

    def list_counting(self, record: PairedEndpoint) -> list[int]:
        """The readable claims that have a part in whose a record set is: of what somebody owns, those of its
        owner. Another's, which ExternalDNS does not obey, is no part of it."""
        claims = self.snapshot.claims
        if record.state == OwnershipState.OWNED:
            return [index for index in record.claims if claims[index].owner_id == record.owner_id]
        return [index for index in record.claims if claims[index].owner_id]

    def find_unheard(self, record: PairedEndpoint, known: Collection[str]) -> str:
        """Where a claim of somebody else stands that ExternalDNS does not obey, beside those of `known`."""
        counting = self.list_counting(record)
        for index in record.claims:
            owner_id, key = self.snapshot.claims[index].owner_id, self._keys[index]
            if owner_id and index not in counting and owner_id not in known and key is not None:
                return describe_place(key, self.stores)
        return ""

    def _read_txts(self) -> None:
        for key, claim in zip(self._keys, self.snapshot.claims, strict=True):
            if key is None or key.store != ZONE:
                continue
            self._standing[key] = claim.endpoint

    def _read_rows(self) -> None:
        texts: dict[ClaimKey, list[str]] = defaultdict(list)
        for key, claim in zip(self._keys, self.snapshot.claims, strict=True):
            if key is None or key.store == ZONE:
                continue
            texts[key].append(claim.raw)
            if claim.verdict == ClaimVerdict.UNREADABLE:
                place = describe_place(key, self.stores)
                self.doubtful[key] = f"The response for {place} is not reliable: {claim.problem}"
        self._standing.update({key: build_row(key, each) for key, each in texts.items()})


def claim_key_of_claim(claim: Claim) -> ClaimKey | None:
    """Where a claim stands; None where its TXT name cannot be read."""
    if claim.registry != TXT_REGISTRY:
        record = EndpointKey(claim.record_name, claim.record_type, claim.set_identifier)
        return build_row_key(claim.profile.reference, record)
    try:
        return ClaimKey(ZONE, *endpoint_key(claim.endpoint))
    except InvalidName:
        return None
