"""What a provider and the registry stores beside it show now of what a transfer is about, as they said it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from providers.registries.stored_claim import StoredClaim
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.change_set import merge_parts
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.transfer.plan.claim_key import ClaimKey, build_row, build_row_key, endpoint_key_of


@dataclass(frozen=True)
class LiveZone:
    """Endpoints of the zone by identity, and the rows of registry stores by their place.

    What the provider lists as several endpoints is one here, with all their targets; `parts` are these, as
    they were read. What cannot be believed is in `doubtful` with the reason, and never written to.
    `stores` are the names of the stores that were read.
    """

    endpoints: dict[EndpointKey, Endpoint] = field(default_factory=dict)
    rows: Mapping[ClaimKey, Endpoint] = field(default_factory=dict)
    doubtful: Mapping[ClaimKey, str] = field(default_factory=dict)
    stores: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[EndpointKey, Sequence[Endpoint]] = field(default_factory=dict)

    def standing(self, key: ClaimKey) -> Endpoint | None:
        """The TXT endpoint, or the row, at `key`; None if there is none."""
        return self.rows.get(key) if key.store else self.endpoints.get(endpoint_key_of(key))

    def with_store(self, store: str, name: str, claims: Iterable[StoredClaim]) -> "LiveZone":
        """This zone and what one more registry store shows at the same names."""
        texts: dict[ClaimKey, list[str]] = defaultdict(list)
        doubtful = dict(self.doubtful)
        for claim in claims:
            key = build_row_key(store, claim.key)
            texts[key].append(claim.text)
            if claim.problem:
                doubtful[key] = claim.problem
        # Sorted: a store gives the rows of several owners in any order.
        rows = {key: build_row(key, sorted(each)) for key, each in texts.items()}
        return replace(
            self, rows={**self.rows, **rows}, doubtful=doubtful, stores={**self.stores, store: name}
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
