"""The claims of everybody in the format of one instance, wherever they are kept. Pure.

An instance whose claims are kept in the database reads a zone in which each claim is a TXT record set of its
own format, and no other claim is. Not shown are claims of record sets whose owner is not certain, claims
whose TXT name would be too long or would be read for something else, and claims of several owners that would
have one TXT name (a wildcard and its replacement): such a record set looks like nobody's, and ExternalDNS
changes only what has its own claim.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
_ENCODER = msgspec.json.Encoder()


class Statement(NamedTuple):
    """Whose one record set is, or would be: what is shown of it. `endpoint` is the record set, or what an
    orphan is for; `has_legacy`: its owner has a claim without the type for it."""

    key: EndpointKey
    endpoint: Endpoint
    claim: Claim
    has_legacy: bool
    is_orphan: bool


Statements = Mapping[str, Sequence[Statement]]


def list_statements(snapshot: Snapshot) -> dict[str, list[Statement]]:
    """What is to be shown of a snapshot, by name, in a fixed order."""
    found: dict[str, list[Statement]] = defaultdict(list)
    for record in snapshot.records:
        if record.state is OwnershipState.OWNED and record.effective_claim is not None:
            found[record.key.name].append(_state(record, snapshot))
    for claim in _list_orphans(snapshot):
        name, identifier = claim.record_name, claim.set_identifier
        endpoint = Endpoint(name, (), claim.record_type or _ANY_TYPE, identifier)
        key = EndpointKey(name, claim.record_type, identifier)
        found[name].append(Statement(key, endpoint, claim, has_legacy=False, is_orphan=True))
    return dict(found)


def _state(record: PairedEndpoint, snapshot: Snapshot) -> Statement:
    claim = snapshot.claims[record.effective_claim or 0]
    endpoint = record.endpoint
    if endpoint.record_type != record.key.record_type:
        endpoint = msgspec.structs.replace(endpoint, record_type=record.key.record_type)
    has_legacy = any(
        snapshot.claims[each].format is ClaimFormat.LEGACY
        and snapshot.claims[each].owner_id == claim.owner_id
        for each in record.claims
    )
    return Statement(record.key, endpoint, claim, has_legacy, is_orphan=False)


class _Written(NamedTuple):
    """One claim as it is written, and where. `order` is that among several with one TXT name."""

    place: EndpointKey
    order: tuple[bool, str, int]
    endpoint: Endpoint
    owner_id: str
    labels: str


class _ClaimKey(NamedTuple):
    """All that a claim is written from in one format."""

    endpoint_type: str
    set_identifier: str
    spelling: str
    properties: tuple[ProviderSpecificProperty, ...]
    labels: str
    is_legacy: bool


class ClaimShower:
    """Writes claims in the format of an instance of `owner_id`, and writes again what changed alone.

    `legacy` are record sets of its own for which it looks for a claim without the type as well. Without an
    owner id it is for all who look for none.
    """

    def __init__(self, profile: TxtProfile, owner_id: str) -> None:
        self._profile = profile
        self._owner_id = owner_id
        self._legacy: Collection[EndpointKey] = frozenset()
        self._known: dict[str, dict[_ClaimKey, tuple[EndpointKey, Endpoint] | None]] = {}
        self._at_name: dict[str, list[_Written]] = {}
        self._at_place: dict[EndpointKey, dict[str, list[_Written]]] = {}
        self._shown: dict[EndpointKey, Endpoint] = {}
        self._encoded: dict[EndpointKey, bytes] = {}
        self._order: list[EndpointKey] = []

    def list_names(self) -> set[str]:
        """The names of which something is shown, or was to be."""
        return set(self._known)

    def update(
        self, names: Iterable[str], statements: Statements, legacy: Collection[EndpointKey] = frozenset()
    ) -> None:
        """Show at these names what is stated there now, and nothing else."""
        turned = {key.name for key in set(legacy) ^ set(self._legacy)}
        self._legacy = legacy
        changed: dict[EndpointKey, None] = {}
        for name in {*names, *turned}:
            for written in self._at_name.pop(name, ()):
                self._at_place[written.place].pop(name, None)
                changed[written.place] = None
            found = self._write_all(name, statements.get(name, ()))
            if found:
                self._at_name[name] = found
            for written in found:
                self._at_place.setdefault(written.place, {}).setdefault(name, []).append(written)
                changed[written.place] = None
        shown_before = {place for place in changed if place in self._shown}
        for place in changed:
            self._show(place)
        if shown_before != {place for place in changed if place in self._shown}:
            self._order = sorted(self._shown)

    def list_shown(self) -> list[Endpoint]:
        """One TXT record set for each claim of everybody, in a fixed order."""
        return [self._shown[place] for place in self._order]

    def list_encoded(self) -> list[bytes]:
        """The same as it is sent."""
        return [self._encoded[place] for place in self._order]

    def _show(self, place: EndpointKey) -> None:
        written = [each for some in self._at_place[place].values() for each in some]
        if len(written) > 1:
            written.sort(key=lambda each: each.order)
        if not written:
            del self._at_place[place]
        if len({each.owner_id for each in written}) != 1:
            self._shown.pop(place, None)
            self._encoded.pop(place, None)
            return
        # Encrypted, the same text has other letters each time.
        targets = {each.labels: each.endpoint.targets[0] for each in reversed(written)}
        endpoint = written[0].endpoint
        if len(targets) > 1:
            ordered = dict.fromkeys(each.labels for each in written)
            endpoint = msgspec.structs.replace(endpoint, targets=tuple(targets[each] for each in ordered))
        self._shown[place] = endpoint
        self._encoded[place] = _ENCODER.encode(endpoint)

    def _write_all(self, name: str, statements: Sequence[Statement]) -> list[_Written]:
        known, self._known[name] = self._known.get(name, {}), {}
        found: list[_Written] = []
        for number, statement in enumerate(statements):
            claim = statement.claim
            labels = repr(sorted(claim.labels.items()))
            for endpoint, is_legacy in self._list_forms(statement):
                key = _ClaimKey(
                    endpoint.record_type,
                    endpoint.set_identifier,
                    endpoint.dns_name,
                    endpoint.provider_specific,
                    labels,
                    is_legacy,
                )
                written = known[key] if key in known else self._write(endpoint, claim, is_legacy=is_legacy)
                self._known[name][key] = written
                if written is not None:
                    order = (statement.is_orphan, name, number)
                    found.append(_Written(written[0], order, written[1], claim.owner_id, labels))
        if not self._known[name]:
            del self._known[name]
        return found

    def _list_forms(self, statement: Statement) -> Iterator[tuple[Endpoint, bool]]:
        """What a claim is written for, and whether without the type."""
        endpoint = statement.endpoint
        if statement.is_orphan:
            yield endpoint, not statement.claim.record_type
            return
        is_own = statement.claim.owner_id == self._owner_id
        if not is_own or not (statement.has_legacy or statement.key in self._legacy):
            yield endpoint, False
            return
        # The versions that write it give an alias the type CNAME.
        typed = "CNAME" if is_alias(endpoint) else endpoint.record_type
        yield msgspec.structs.replace(endpoint, record_type=typed), False
        if endpoint.record_type not in _NO_LEGACY:
            yield endpoint, True

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


def show_claims(
    snapshot: Snapshot, profile: TxtProfile, owner_id: str, legacy: Collection[EndpointKey]
) -> list[Endpoint]:
    """The claims of everybody in a snapshot as an instance of `owner_id` reads them. `legacy`: see
    ClaimShower."""
    shower, statements = ClaimShower(profile, owner_id), list_statements(snapshot)
    shower.update(statements, statements, legacy)
    return shower.list_shown()


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
