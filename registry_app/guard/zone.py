"""The part of a zone that a change set touches: what is there, whose it is, and what would be there. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from providers.registries.claim import Claim, OwnershipState, PairedEndpoint, Pairing, TxtProfile
from providers.registries.pairing import pair
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.change_set import merge_parts
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.mirror.snapshot import Snapshot

Edits = Mapping[EndpointKey, Endpoint | None]


@dataclass(frozen=True)
class Zone:
    """What a provider shows at some names and all that are linked with them.

    `records` say whose each record set is, by all registries, as the `snapshot` has them. `unreadable` are
    names where something could not be read.
    """

    endpoints: tuple[Endpoint, ...]
    profiles: tuple[TxtProfile, ...]
    records: Mapping[EndpointKey, PairedEndpoint]
    snapshot: Snapshot
    unreadable: Collection[str] = frozenset()

    @cached_property
    def parts(self) -> dict[EndpointKey, list[Endpoint]]:
        """What the provider lists for each identity."""
        found: dict[EndpointKey, list[Endpoint]] = defaultdict(list)
        for endpoint in self.endpoints:
            try:
                found[endpoint_key(endpoint)].append(endpoint)
            except InvalidName:
                continue  # nothing that is asked for has such a name
        return dict(found)

    def find(self, key: EndpointKey) -> Endpoint | None:
        """All that is listed for an identity, as one."""
        parts = self.parts.get(key)
        return merge_parts(parts) if parts else None

    @cached_property
    def at_name(self) -> dict[str, list[PairedEndpoint]]:
        """The record sets at each name."""
        found: dict[str, list[PairedEndpoint]] = defaultdict(list)
        for record in self.records.values():
            found[record.key.name].append(record)
        return dict(found)

    @cached_property
    def pairing(self) -> Pairing:
        """What the TXT claims say."""
        return pair(self.endpoints, self.profiles)

    @cached_property
    def claims_at(self) -> dict[EndpointKey, list[Claim]]:
        """The claims in each TXT record set."""
        return list_claims(self.pairing)

    def predict(self, edits: Edits) -> Pairing:
        """What the TXT claims would say with these changes."""
        kept = [each for each in self.endpoints if not _is_edited(each, edits)]
        return pair([*kept, *(each for each in edits.values() if each is not None)], self.profiles)


def build_zone(snapshot: Snapshot, endpoints: Sequence[Endpoint]) -> Zone:
    """Of a snapshot and the endpoints it was read from."""
    return Zone(
        tuple(endpoints),
        snapshot.profiles,
        {record.key: record for record in snapshot.records},
        snapshot,
        snapshot.set_aside_names,
    )


def list_claims(pairing: Pairing) -> dict[EndpointKey, list[Claim]]:
    """The claims of each TXT record set, those of registry stores left out."""
    found: dict[EndpointKey, list[Claim]] = defaultdict(list)
    for claim in pairing.claims:
        if claim.is_in_zone:
            found[endpoint_key(claim.endpoint)].append(claim)
    return dict(found)


def find_touched(
    before: Pairing,
    after: Pairing,
    owner_id: str,
    ours: Collection[EndpointKey],
    copies: Collection[EndpointKey] = frozenset(),
) -> list[str]:
    """The names of record sets and claims of others that differ between two pairings (I12).

    What `owner_id` owned before is its own, and so are the record sets `ours`, which it creates, and the
    `copies` of its claims, whatever they say: the claims themselves are in a registry store.
    """
    records = {record.key: record for record in before.records}
    found = {record.key: record for record in after.records}
    changed = [
        key.name
        for key, record in records.items()
        if not is_owned_by(record, owner_id) and key not in ours and not _is_same(record, found.get(key))
    ]
    changed += [key.name for key in found.keys() - records.keys() if key not in ours]
    foreign = {(endpoint_key(each.endpoint), each.raw) for each in _list_foreign(before, owner_id)}
    foreign ^= {(endpoint_key(each.endpoint), each.raw) for each in _list_foreign(after, owner_id)}
    return [*changed, *(key.name for key, _ in foreign if key not in copies)]


def is_owned_by(record: PairedEndpoint | None, owner_id: str) -> bool:
    """Whether all profiles that find an owner find this one."""
    return record is not None and record.state is OwnershipState.OWNED and record.owner_id == owner_id


def _list_foreign(pairing: Pairing, owner_id: str) -> Iterable[Claim]:
    return (claim for claim in pairing.claims if claim.is_in_zone and claim.owner_id != owner_id)


def _is_same(before: PairedEndpoint, after: PairedEndpoint | None) -> bool:
    return after is not None and (
        before.endpoint == after.endpoint
        and before.state is after.state
        and before.owner_id == after.owner_id
        and before.parts == after.parts
    )


def _is_edited(endpoint: Endpoint, edits: Edits) -> bool:
    try:
        return endpoint_key(endpoint) in edits
    except InvalidName:
        return False
