"""Records and their claims in one change set. Pure but for fresh nonces.

Each created record set gets its claim in the same change set, each deleted one loses it there, and an update
leaves the claim's text as it is, unless the record set comes from another resource now.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from providers.planning.plan import PlanSettings
from providers.planning.planned_changes import LeftAlone, PlannedChanges, Update
from providers.registries.claim import Claim, PairedEndpoint, Pairing, TxtProfile
from providers.registries.errors import RegistryError
from providers.registries.labels import OWNER, RESOURCE, labels_beside_owner
from providers.registries.new_claim import build_new_claim
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.change_set import ChangeSet, PartChange
from providers.wire.change_set import build_change_set as spread_changes
from providers.wire.endpoint import Endpoint, EndpointKey


class Batch(msgspec.Struct, frozen=True):
    """One change set, and the record sets it is about; what it leaves alone could not be claimed.

    `claim_places` are the TXT endpoints that change beside a record set, for those that have any.
    """

    change_set: ChangeSet
    keys: tuple[EndpointKey, ...]
    left_alone: tuple[LeftAlone, ...] = ()
    claim_places: Mapping[EndpointKey, tuple[EndpointKey, ...]] = {}


def build_change_set(
    planned: PlannedChanges, current: Pairing, profile: TxtProfile, settings: PlanSettings
) -> Batch:
    """All planned changes with their claims under `profile`; without ownership, without claims."""
    builder = _Builder(current, profile, settings)
    for endpoint in planned.creates:
        builder.add_create(endpoint)
    for update in planned.updates:
        builder.add_update(update)
    builder.add_deletes(planned.deletes)
    return builder.build()


@dataclass
class _TxtChange:
    """One TXT endpoint on its way; `old` None: it did not exist."""

    old: Endpoint | None
    targets: list[str]
    pattern: Endpoint


@dataclass
class _Builder:
    current: Pairing
    profile: TxtProfile
    settings: PlanSettings
    creates: list[Endpoint] = field(default_factory=list)
    updates: list[tuple[Endpoint, Endpoint]] = field(default_factory=list)
    deletes: list[Endpoint] = field(default_factory=list)
    keys: list[EndpointKey] = field(default_factory=list)
    left: list[LeftAlone] = field(default_factory=list)
    txts: dict[EndpointKey, _TxtChange] = field(default_factory=dict)
    places: dict[EndpointKey, list[EndpointKey]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self._txt_endpoints: dict[EndpointKey, Endpoint] = {}
        self._claims_at: dict[EndpointKey, list[Claim]] = defaultdict(list)
        self._parts = {record.key: record.parts for record in self.current.records if record.parts}
        for record in self.current.records:
            if record.key.record_type == "TXT":
                self._txt_endpoints[record.key] = record.endpoint
        for claim in self.current.claims:
            key = _place_of(claim)
            if key is not None:
                self._txt_endpoints[key] = claim.endpoint
                if claim.parts:
                    self._parts[key] = claim.parts
                self._claims_at[key].append(claim)

    def add_create(self, endpoint: Endpoint) -> None:
        key = endpoint_key(endpoint)
        record = msgspec.structs.replace(endpoint, labels={})
        if self.settings.has_ownership:
            try:
                claim = build_new_claim(
                    record,
                    self.settings.owner_id,
                    self.profile,
                    extra_labels=labels_beside_owner(endpoint.labels),
                )
                self._claim_anew(claim)
                self.places[key].append(endpoint_key(claim))
            except (RegistryError, InvalidName) as error:
                self.left.append(LeftAlone(key, f"It cannot be claimed, so it was not created: {error}"))
                return
        self.creates.append(record)
        self.keys.append(key)

    def add_update(self, update: Update) -> None:
        """What is wanted, TTL included: one that is not stated is the provider's default."""
        record = update.current
        new = msgspec.structs.replace(
            record.endpoint,
            targets=update.wanted.targets,
            record_ttl=update.wanted.record_ttl,
            provider_specific=update.wanted.provider_specific,
        )
        self.updates.append((record.endpoint, new))
        self.keys.append(record.key)
        resource = update.wanted.labels.get(RESOURCE, "")
        claim = self._effective(record)
        if claim is not None and resource and resource != claim.resource:
            self._rewrite(claim, record, resource)

    def add_deletes(self, records: Iterable[PairedEndpoint]) -> None:
        going = {record.key: record for record in records}
        needed = self._claims_still_needed(going)
        for record in going.values():
            self.deletes.append(record.endpoint)
            self.keys.append(record.key)
            for index in record.claims if self.settings.has_ownership else ():
                claim = self.current.claims[index]
                if index not in needed and claim.owner_id == self.settings.owner_id:
                    self._remove(claim, record)

    def build(self) -> Batch:
        creates, updates, deletes = list(self.creates), list(self.updates), list(self.deletes)
        for change in self.txts.values():
            new = msgspec.structs.replace(change.pattern, targets=tuple(change.targets))
            if change.old is None:
                creates.append(new)
            elif not change.targets:
                deletes.append(change.old)
            elif new != change.old:
                updates.append((change.old, new))
        changes: list[PartChange] = [*((None, each) for each in creates), *updates]
        changes += [(each, None) for each in deletes]
        change_set = spread_changes(changes, self._parts)
        places = {key: tuple(dict.fromkeys(each)) for key, each in self.places.items()}
        return Batch(change_set, tuple(self.keys), tuple(self.left), places)

    def _claim_anew(self, claim: Endpoint) -> None:
        """A new claim; where an orphan of ours is in its place, that one gets the new text."""
        key = endpoint_key(claim)
        found = self._txt_endpoints.get(key)
        if found is None:
            self.txts[key] = _TxtChange(None, list(claim.targets), claim)
            return
        ours = {each.raw for each in self._claims_at[key] if each.owner_id == self.settings.owner_id}
        if not set(found.targets) <= ours:
            raise RegistryError(f"there is another TXT record at {key.name}.")
        self.txts[key] = _TxtChange(found, list(claim.targets), found)

    def _rewrite(self, claim: Claim, record: PairedEndpoint, resource: str) -> None:
        """The claim with another resource. One that shares its TXT record, or cannot be written under the
        owner's own profile, keeps its text: the owner is what counts."""
        extra = {name: text for name, text in claim.labels.items() if name not in (OWNER, RESOURCE)}
        if not claim.is_in_zone or claim.endpoint.targets != (claim.raw,):
            return
        if claim.record_type != record.key.record_type:
            return
        try:
            rewritten = build_new_claim(
                record.endpoint,
                claim.owner_id,
                claim.profile,
                resource=resource,
                extra_labels=extra,
                like=claim.endpoint,
            )
        except (RegistryError, InvalidName):
            return
        key = _place_of(claim)
        if key is not None and endpoint_key(rewritten) == key:
            self.txts[key] = _TxtChange(claim.endpoint, list(rewritten.targets), claim.endpoint)
            self.places[record.key].append(key)

    def _remove(self, claim: Claim, record: PairedEndpoint) -> None:
        key = _place_of(claim)
        if key is None:
            return
        self.places[record.key].append(key)
        change = self.txts.setdefault(
            key, _TxtChange(claim.endpoint, list(claim.endpoint.targets), claim.endpoint)
        )
        change.targets = [target for target in change.targets if target != claim.raw]

    def _effective(self, record: PairedEndpoint) -> Claim | None:
        return None if record.effective_claim is None else self.current.claims[record.effective_claim]

    def _claims_still_needed(self, going: Mapping[EndpointKey, PairedEndpoint]) -> set[int]:
        """Claims of what is deleted that are for a record set that stays as well (legacy ones may)."""
        candidates = {index for record in going.values() for index in record.claims}
        if not candidates:
            return set()
        return {
            index
            for record in self.current.records
            if record.key not in going
            for index in record.claims
            if index in candidates
        }


def _place_of(claim: Claim) -> EndpointKey | None:
    """Which TXT endpoint holds a claim; None for a row of a registry store, and for a name that cannot be."""
    if not claim.is_in_zone:
        return None
    try:
        return endpoint_key(claim.endpoint)
    except InvalidName:
        return None
