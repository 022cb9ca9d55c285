"""Whose everything in a response is, element by element, brought up to date by what changed alone. Pure.

What follows from what by names is read again together: the names of changed elements and rows, and all that
are linked with these. Where that cannot be told, or much changed, all of it is read again.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from providers.registries.claim import ClaimFormat, TxtProfile
from providers.registries.linked_names import NameLinks
from providers.registries.stored_claim import StoreContents, StoredClaim
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.elements import join_elements
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.json_codec import DecodedRecords, decode_records
from registry_app.guard.shown_claims import Statement, list_statements, strip_claims
from registry_app.guard.view import cut_all
from registry_app.mirror.changed_part import may_be_linked_by_name, may_follow_links
from registry_app.mirror.registries import Registries
from registry_app.mirror.snapshot import Snapshot, build_snapshot

_ENCODER = msgspec.json.Encoder()
# Beyond this share of all names, reading everything is as fast.
_MOST_CHANGED = 0.2
Rows = Mapping[EndpointKey, StoredClaim]


@dataclass(frozen=True)
class Store:
    """The rows of one registry profile."""

    reference: str
    kind: str
    rows: Rows


@dataclass(frozen=True)
class Sources:
    """What a truth is read from: a response, and the rows of registry profiles."""

    body: bytes
    stores: Sequence[Store]
    profiles: tuple[TxtProfile, ...]
    registries: Registries
    max_items: int


@dataclass(frozen=True)
class ZoneTruth:
    """`left` is each element without the claims in it, None where nothing is left; in `elements` is their
    order. `statements` say whose everything is, by name, `legacy` which owners have claims of the legacy
    format there. `endpoints` are empty where only the whole tells."""

    sources: Sources
    elements: Sequence[bytes]
    left: dict[bytes, bytes | None]
    statements: dict[str, list[Statement]]
    legacy: dict[str, set[str]]
    endpoints: dict[bytes, Endpoint] = field(default_factory=dict)
    at_name: dict[str, list[bytes]] = field(default_factory=dict)

    def list_left(self) -> list[bytes]:
        """The elements without their claims, in the order of the response."""
        return [left for each in self.elements if (left := self.left[each]) is not None]

    @property
    def legacy_owners(self) -> set[str]:
        """The owners with claims of the legacy format."""
        return {owner_id for owners in self.legacy.values() for owner_id in owners}


def build_truth(sources: Sources) -> ZoneTruth:
    """Of everything. Raises WireError."""
    elements = cut_all(sources.body, sources.max_items)
    decoded = decode_records(sources.body, max_items=sources.max_items)
    snapshot = _build_snapshot(decoded, sources, None)
    set_aside = {each.index for each in decoded.set_aside}
    whole = [each for place, each in enumerate(elements) if place not in set_aside]
    left: dict[bytes, bytes | None] = {elements[place]: elements[place] for place in set_aside}
    left.update(_strip(whole, decoded.endpoints, snapshot))
    truth = ZoneTruth(sources, elements, left, list_statements(snapshot), _list_legacy(snapshot))
    is_certain = not set_aside and len(left) == len(elements) and not sources.registries.in_endpoints
    if is_certain and may_follow_links(sources.profiles) and may_be_linked_by_name(decoded.endpoints):
        truth.endpoints.update(zip(elements, decoded.endpoints, strict=True))
        _add_names(truth, elements)
    return truth


def update_truth(before: ZoneTruth, sources: Sources) -> tuple[ZoneTruth, Collection[str]] | None:
    """The truth of what is there now, and the names where it may differ; None where all of it has to be read
    again. `before` is used up. Raises WireError."""
    was = before.sources
    if not before.endpoints or (was.profiles, was.registries) != (sources.profiles, sources.registries):
        return None
    elements = before.elements if sources.body is was.body else cut_all(sources.body, sources.max_items)
    come = dict.fromkeys(each for each in elements if each not in before.endpoints)
    there = set(elements)
    gone = [each for each in before.elements if each not in there]
    if len(there) < len(elements):
        return None
    new = decode_records(join_elements([msgspec.Raw(each) for each in come]), max_items=sources.max_items)
    if new.set_aside or not may_be_linked_by_name(new.endpoints):
        return None
    names = {name for each in gone if (name := _name_of(before.endpoints[each])) is not None}
    names |= {name for each in new.endpoints if (name := _name_of(each)) is not None}
    names |= {key.name for key in _list_changed_rows(was.stores, sources.stores)}
    for each in gone:
        _forget(before, each)
    before.endpoints.update(zip(come, new.endpoints, strict=True))
    _add_names(before, come)
    most = int(_MOST_CHANGED * len(elements)) + 1
    reached = NameLinks(sources.profiles).reach(names, before.at_name.__contains__, limit=most)
    if reached is None:
        return None
    after = replace(before, sources=sources, elements=elements)
    _read_again(after, reached)
    return after, reached


def _read_again(truth: ZoneTruth, names: Collection[str]) -> None:
    """What is at these names, which are all that are linked with each other."""
    there = {element for name in names for element in truth.at_name.get(name, ())}
    part = [element for element in truth.elements if element in there]  # of two the last may count
    endpoints = [truth.endpoints[each] for each in part]
    snapshot = _build_snapshot(DecodedRecords(endpoints, []), truth.sources, names)
    truth.left.update(_strip(part, endpoints, snapshot))
    statements, legacy = list_statements(snapshot), _list_legacy(snapshot)
    for name in names:
        truth.statements.pop(name, None)
        truth.legacy.pop(name, None)
    truth.statements.update(statements)
    truth.legacy.update(legacy)


def _build_snapshot(decoded: DecodedRecords, sources: Sources, names: Collection[str] | None) -> Snapshot:
    contents = tuple(
        StoreContents(
            each.reference,
            each.kind,
            tuple(row for key, row in each.rows.items() if names is None or key.name in names),
        )
        for each in sources.stores
    )
    return build_snapshot(decoded, sources.profiles, sources.registries, contents, body=b"", body_digest="")


def _strip(
    elements: Iterable[bytes], endpoints: Sequence[Endpoint], snapshot: Snapshot
) -> dict[bytes, bytes | None]:
    stripped = strip_claims(endpoints, snapshot)
    return {
        element: None if after is None else element if after is before else _ENCODER.encode(after)
        for element, before, after in zip(elements, endpoints, stripped, strict=True)
    }


def _list_legacy(snapshot: Snapshot) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for claim in snapshot.claims:
        if claim.format is ClaimFormat.LEGACY:
            found[claim.record_name].add(claim.owner_id)
    return dict(found)


def _list_changed_rows(before: Sequence[Store], after: Sequence[Store]) -> set[EndpointKey]:
    was = {each.reference: each.rows for each in before}
    now = {each.reference: each.rows for each in after}
    found: set[EndpointKey] = set()
    for reference in was.keys() | now.keys():
        old, new = was.get(reference, {}), now.get(reference, {})
        found.update(key for key, row in new.items() if old.get(key) != row)
        found.update(old.keys() - new.keys())
    return found


def _add_names(truth: ZoneTruth, elements: Iterable[bytes]) -> None:
    for element in elements:
        name = _name_of(truth.endpoints[element])
        if name is not None:
            truth.at_name.setdefault(name, []).append(element)


def _forget(truth: ZoneTruth, element: bytes) -> None:
    name = _name_of(truth.endpoints.pop(element))
    truth.left.pop(element, None)
    if name is not None:
        rest = [each for each in truth.at_name[name] if each != element]
        if rest:
            truth.at_name[name] = rest
        else:
            del truth.at_name[name]


def _name_of(endpoint: Endpoint) -> str | None:
    try:
        return canonical_name(endpoint.dns_name)
    except InvalidName:
        return None
