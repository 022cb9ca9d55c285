"""The claims of everybody in the format of one instance, wherever they are kept. Pure.

An instance whose claims are kept in the database reads a zone in which each claim is a TXT record set of its
own format, and no other claim is. Not shown are claims of record sets whose owner is not certain, claims
whose TXT name would be too long or would be read for something else, and claims of several owners that would
have one TXT name (a wildcard and its replacement): such a record set looks like nobody's, and ExternalDNS
changes only what has its own claim.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from providers.registries.claim import (
    Claim,
    ClaimFormat,
    ClaimVerdict,
    OwnershipState,
    PairedEndpoint,
    TxtProfile,
)
from providers.registries.errors import RegistryError
from providers.registries.labels import OWNER
from providers.registries.new_claim import build_new_claim
from providers.registries.ownership import is_alias
from providers.registries.txt_names import format_legacy_txt_name
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from providers.wire.errors import WireError
from registry_app.mirror.snapshot import Snapshot

_TXT = "TXT"
# A claim without a type is for any but these.
_NO_LEGACY = frozenset({"AAAA"})
_ANY_TYPE = "A"


@dataclass
class _Place:
    """A TXT record set to show: one of its claims, the targets of all, and the owners they name."""

    endpoint: Endpoint
    owners: set[str] = field(default_factory=set)
    targets: dict[str, str] = field(default_factory=dict)


class _ClaimKey(NamedTuple):
    """All that a claim is written from in one format."""

    name: str
    record_type: str
    set_identifier: str
    properties: tuple[ProviderSpecificProperty, ...]
    labels: str
    is_legacy: bool


Written = Mapping[_ClaimKey, tuple[EndpointKey, Endpoint] | None]


class ClaimShower:
    """Writes claims in the format of an instance of `owner_id`.

    `legacy` are record sets of its own for which it looks for a claim without the type as well. `known` are
    claims that were written in this format before, and stay as they are; `written` are those of now.
    """

    def __init__(
        self,
        profile: TxtProfile,
        owner_id: str,
        legacy: Collection[EndpointKey],
        known: Written = MappingProxyType({}),
    ) -> None:
        self._profile = profile
        self._owner_id = owner_id
        self._legacy = legacy
        self._known = known
        self._places: dict[EndpointKey, _Place] = {}
        self.written: dict[_ClaimKey, tuple[EndpointKey, Endpoint] | None] = {}

    def show(self, snapshot: Snapshot) -> list[Endpoint]:
        """One TXT record set for each claim of everybody, in a fixed order."""
        for record in snapshot.records:
            if record.state is OwnershipState.OWNED and record.effective_claim is not None:
                self._add_record(record, snapshot.claims[record.effective_claim], snapshot)
        for claim in _list_orphans(snapshot):
            name, identifier = claim.record_name, claim.set_identifier
            record_type = claim.record_type or _ANY_TYPE
            self._add(Endpoint(name, (), record_type, identifier), claim, is_legacy=not claim.record_type)
        shown = (self._places[key] for key in sorted(self._places))
        return [
            each.endpoint
            if len(each.targets) == 1
            else msgspec.structs.replace(each.endpoint, targets=tuple(each.targets.values()))
            for each in shown
            if len(each.owners) == 1
        ]

    def _add_record(self, record: PairedEndpoint, claim: Claim, snapshot: Snapshot) -> None:
        endpoint = record.endpoint
        if endpoint.record_type != record.key.record_type:
            endpoint = msgspec.structs.replace(endpoint, record_type=record.key.record_type)
        looks_for_legacy = claim.owner_id == self._owner_id and (
            record.key in self._legacy
            or any(
                snapshot.claims[each].format is ClaimFormat.LEGACY
                and snapshot.claims[each].owner_id == self._owner_id
                for each in record.claims
            )
        )
        if not looks_for_legacy:
            self._add(endpoint, claim)
            return
        # The versions that write it give an alias the type CNAME.
        typed = "CNAME" if is_alias(endpoint) else endpoint.record_type
        self._add(msgspec.structs.replace(endpoint, record_type=typed), claim)
        if endpoint.record_type not in _NO_LEGACY:
            self._add(endpoint, claim, is_legacy=True)

    def _add(self, record: Endpoint, claim: Claim, *, is_legacy: bool = False) -> None:
        labels = repr(sorted(claim.labels.items()))
        key = _ClaimKey(
            record.dns_name,
            record.record_type,
            record.set_identifier,
            record.provider_specific,
            labels,
            is_legacy,
        )
        found = self._known[key] if key in self._known else self._write(record, claim, is_legacy=is_legacy)
        self.written[key] = found
        if found is None:
            return
        place = self._places.setdefault(found[0], _Place(found[1]))
        place.owners.add(claim.owner_id)
        # Encrypted, the same text has other letters each time.
        place.targets.setdefault(labels, found[1].targets[0])

    def _write(
        self, record: Endpoint, claim: Claim, *, is_legacy: bool
    ) -> tuple[EndpointKey, Endpoint] | None:
        """The claim in the format, and where; None where it cannot be written."""
        try:
            shown = build_new_claim(record, claim.owner_id, self._profile, extra_labels=claim.labels)
            if is_legacy:
                name = format_legacy_txt_name(record.dns_name, self._profile)
                shown = msgspec.structs.replace(shown, dns_name=name)
            shown = msgspec.structs.replace(shown, labels={})
            return endpoint_key(shown), shown
        except (RegistryError, WireError):
            return None


def strip_claims(endpoints: Sequence[Endpoint], snapshot: Snapshot) -> Iterator[Endpoint | None]:
    """Each endpoint without the claims in it, and without a label that names another owner than it has; None
    for one that is nothing but claims."""
    found = _list_raw(snapshot.claims)
    owners: Mapping[EndpointKey, str] = {}
    if any(OWNER in endpoint.labels for endpoint in endpoints):
        owners = {record.key: record.owner_id for record in snapshot.records}
    for endpoint in endpoints:
        raw = _find_raw(endpoint, found)
        if raw and not raw.isdisjoint(endpoint.targets):
            rest = tuple(target for target in endpoint.targets if target not in raw)
            yield msgspec.structs.replace(endpoint, targets=rest) if rest else None
        elif OWNER in endpoint.labels and endpoint.labels[OWNER] != _find_owner(endpoint, owners):
            labels = {name: text for name, text in endpoint.labels.items() if name != OWNER}
            yield msgspec.structs.replace(endpoint, labels=labels)
        else:
            yield endpoint


def _find_owner(endpoint: Endpoint, owners: Mapping[EndpointKey, str]) -> str:
    try:
        return owners.get(endpoint_key(endpoint), "")
    except InvalidName:
        return ""


def _find_raw(endpoint: Endpoint, found: Mapping[EndpointKey, set[str]]) -> set[str] | None:
    if not found or endpoint.record_type.upper() != _TXT:
        return None
    try:
        return found.get(endpoint_key(endpoint))
    except InvalidName:
        return None  # it is no claim


def _list_raw(claims: Iterable[Claim]) -> dict[EndpointKey, set[str]]:
    found: dict[EndpointKey, set[str]] = defaultdict(set)
    for claim in claims:
        if claim.is_in_zone:
            found[endpoint_key(claim.endpoint)].add(claim.raw)
    return found


def _list_orphans(snapshot: Snapshot) -> Iterator[Claim]:
    """The readable claims for what is not there. A row that was written before its record set is none until
    that is there."""
    intents = {
        (contents.reference, stored.key)
        for contents in snapshot.contents
        for stored in contents.claims
        if stored.meant_targets is not None
    }
    for claim in snapshot.claims:
        if claim.verdict is not ClaimVerdict.ORPHAN or not claim.owner_id or OWNER not in claim.labels:
            continue
        key = EndpointKey(claim.record_name, claim.record_type, claim.set_identifier)
        if claim.is_in_zone or (claim.profile.reference, key) not in intents:
            yield claim
