"""A fresh snapshot, ready to be asked what stands at a place and what it decides. Pure."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from operator import attrgetter

from providers.registries.claim import TXT_REGISTRY, Claim, ClaimVerdict, OwnershipState
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
            heard = record.claims if record.state == OwnershipState.CONFLICT else record.claims[:1]
            for index in heard:
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

    def places_claiming(self, key: EndpointKey) -> set[ClaimKey]:
        """Where the readable claims stand that speak for a record set."""
        record = self.records.get(key)
        indexes = record.claims if record else ()
        found = (self._keys[index] for index in indexes if self.snapshot.claims[index].owner_id)
        return {each for each in found if each is not None}

    def _read_txts(self) -> None:
        for key, claim in zip(self._keys, self.snapshot.claims, strict=True):
            if key is None or key.store != ZONE:
                continue
            if self._standing.setdefault(key, claim.endpoint) != claim.endpoint:
                self.doubtful[key] = f"The provider lists {describe_place(key, self.stores)} more than once."

    def _read_rows(self) -> None:
        texts: dict[ClaimKey, list[str]] = defaultdict(list)
        for key, claim in zip(self._keys, self.snapshot.claims, strict=True):
            if key is None or key.store == ZONE:
                continue
            texts[key].append(claim.raw)
            if claim.verdict == ClaimVerdict.UNREADABLE:
                place = describe_place(key, self.stores)
                self.doubtful[key] = f"What is shown of {place} cannot be relied on: {claim.problem}"
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
