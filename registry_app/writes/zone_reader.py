"""Reading a provider again and again under its lease: what did not change is not decoded again."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from threading import Lock
from typing import NamedTuple

import msgspec

from providers.client.provider_client import ProviderClient, RecordsAnswer
from providers.registries.claim import TxtProfile
from providers.registries.linked_names import NameLinks
from providers.wire.canonical_name import canonical_name
from providers.wire.elements import ElementHasher, cut_elements, join_elements
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import DecodedRecords, decode_records
from registry_app.mirror.changed_part import (
    WholeReadingNeeded,
    describe_new,
    list_wanted,
    may_be_linked_by_name,
    may_follow_links,
    reach_names,
    select_changed,
)
from registry_app.mirror.element_diff import compare_elements
from registry_app.mirror.element_index import (
    Element,
    ElementKind,
    Tally,
    compute_name_key,
    describe_elements,
    draft_chunks,
)
from registry_app.mirror.known_response import KnownResponse, remember_response
from registry_app.mirror.plausibility import Counts, count_endpoints
from registry_app.mirror.reading import build_element_seed, fetch_reading
from registry_app.mirror.rolling_index import RollingIndex
from registry_app.models import Provider
from registry_app.reconcile.snapshot_index import fetch_accepted_index, fetch_chunks

# Beyond these, whole responses are decoded: every reading would decode them.
_MOST_APART = 1_000
# To find what is linked with more names than this, and than this share of the elements, takes longer than to
# decode all of them.
_LARGEST_SHARE_LINKED = 0.3
_MOST_LINKED = 1_000


@dataclass(frozen=True)
class ZoneReading:
    """What a provider shows now.

    `decoded` is in the order of the response: every endpoint at canonical `names`, where that is None every
    endpoint; maybe others; and everything that was set aside. `shown` counts the whole response, of which
    `tally` has all elements.
    """

    answer: RecordsAnswer
    decoded: DecodedRecords
    names: frozenset[str] | None
    shown: Counts
    tally: Tally

    @property
    def item_count(self) -> int:
        """How many items the whole response has, with those that were set aside."""
        return len(self.tally.kinds)

    @property
    def endpoint_count(self) -> int:
        """How many endpoints the whole response has."""
        return self.item_count - self.tally.count(ElementKind.SET_ASIDE)


@dataclass(frozen=True)
class _Zone:
    """The last response. `repeated` are the names where several elements have one identity, and count once;
    `are_linked`: what may claim what follows from canonical names. `changed` are the names of what changed
    since the accepted snapshot, None where that is not known."""

    known: RollingIndex | KnownResponse
    repeated: frozenset[str]
    are_linked: bool
    changed: frozenset[str] | None = None


class _Part(NamedTuple):
    """What was read of a response: `decoded` is all at `names`, and `changed` are the names of what changed.
    `known` has all of the response."""

    decoded: DecodedRecords
    names: frozenset[str]
    changed: frozenset[str]
    known: RollingIndex | KnownResponse


class LastZones:
    """The last responses of providers, for all sessions of a process. Only a cache: a response that is not in
    it is compared with the accepted snapshot. The oldest ones go where there are too many bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._zones: dict[int, _Zone] = {}
        self._sizes: dict[int, int] = {}

    def find(self, provider: Provider) -> _Zone | None:
        """The last response of a provider, without what it changed since the accepted snapshot."""
        with self._lock:
            return self._zones.get(provider.pk)

    def keep(self, provider: Provider, zone: _Zone) -> None:
        """Have it found, where it does not depend on what else this session knows."""
        with self._lock:
            self._zones.pop(provider.pk, None)
            self._sizes.pop(provider.pk, None)
            if isinstance(zone.known, KnownResponse):
                self._zones[provider.pk] = replace(zone, changed=None)
                self._sizes[provider.pk] = len(zone.known.body)
            while sum(self._sizes.values()) > self._most_bytes:
                oldest = next(iter(self._sizes))
                del self._zones[oldest], self._sizes[oldest]


class ZoneReader:
    """Reads one provider, whose lease its caller has until the last reading.

    The first response is compared with the accepted snapshot, every other one with the one before it. Where
    only a whole response tells, it is decoded whole.
    """

    def __init__(
        self,
        provider: Provider,
        client: ProviderClient,
        profiles: Sequence[TxtProfile],
        last_zones: LastZones | None = None,
    ) -> None:
        """`last_zones` are those of earlier sessions."""
        self._provider = provider
        self._client = client
        self._name_links = NameLinks(profiles) if may_follow_links(profiles) else None
        self._hasher = ElementHasher(build_element_seed(provider))
        self._last_zones = last_zones
        last = last_zones.find(provider) if last_zones else None
        self._zone = last or _load_accepted(provider)

    def read(
        self,
        names: Collection[str] | None = None,
        *,
        follows_links: bool = False,
        with_changed: bool = False,
    ) -> ZoneReading:
        """`GET /records`: the endpoints at canonical `names`, or all.

        `follows_links`: and at all names that are linked with these, so that their owners can be told.
        `with_changed`: and all that changed since the accepted snapshot. Raises ProviderError, WireError and
        LeaseLost.
        """
        answer, zone = self._client.records(), self._zone
        reading = None
        if names is not None and zone is not None and (zone.changed is not None or not with_changed):
            beside = zone.changed if with_changed and zone.changed else ()
            # A whole reading does not keep what changed.
            if with_changed or not follows_links or not _are_most(names, zone):
                reading = self._read_part(answer, zone, {*names, *beside}, follows_links=follows_links)
        reading = reading or self._read_whole(answer, is_kept=names is not None)
        if self._last_zones is not None and self._zone is not None:
            self._last_zones.keep(self._provider, self._zone)
        return reading

    def _read_part(
        self, answer: RecordsAnswer, zone: _Zone, names: Iterable[str], *, follows_links: bool
    ) -> ZoneReading | None:
        """What changed and what is at the names; None where only the whole response tells."""
        if follows_links and not (zone.are_linked and self._name_links):
            return None
        name_links = self._name_links if follows_links else None
        beside = {*names, *zone.repeated}
        if isinstance(zone.known, KnownResponse):
            part = self._follow_known(answer.body, zone.known, beside, name_links)
        else:
            part = self._follow_index(answer.body, zone.known, beside, name_links)
        if part is None:
            return None
        repeated = zone.repeated | _list_repeated(part.decoded.endpoints)
        changed = None if zone.changed is None else zone.changed | part.changed
        self._zone = _Zone(part.known, repeated, zone.are_linked, changed)
        tally = part.known.tally
        return ZoneReading(answer, part.decoded, part.names, _count(tally, repeated, part.decoded), tally)

    def _follow_known(
        self, body: bytes, known: KnownResponse, names: Iterable[str], name_links: NameLinks | None
    ) -> _Part | None:
        """Compared with the last response."""
        max_items = self._provider.max_items
        diff = known.compare(body, max_items=max_items)
        new = None if diff is None else describe_new(diff.new, max_items=max_items)
        if diff is None or new is None or "" in diff.gone:
            return None
        index = diff.apply(new)
        changed = diff.gone.union(each.name for each in new)
        reached = reach_names(changed.union(names), name_links, index.may_have)
        if reached is None:
            return None
        elements = index.select(list_wanted(reached))
        decoded = decode_records(join_elements(elements), max_items=max_items)
        return _Part(decoded, frozenset(reached), changed, index)

    def _follow_index(
        self, body: bytes, index: RollingIndex, names: Iterable[str], name_links: NameLinks | None
    ) -> _Part | None:
        """Compared with the accepted snapshot, or with a last response that is not known itself."""
        max_items = self._provider.max_items
        elements = cut_elements(body, max_items=max_items)
        if elements is None:
            return None
        diff = compare_elements(elements, index.heads, index, self._hasher)
        try:
            selected = select_changed(diff, name_links, names, max_items=max_items)
        except WholeReadingNeeded:
            return None
        decoded = decode_records(join_elements(selected.elements), max_items=max_items)
        changed = diff.gone.union(each.name for each in selected.new.values())
        index.roll(selected.chunks)
        return _Part(decoded, selected.names, changed, _remember(body, elements, index) or index)

    def _read_whole(self, answer: RecordsAnswer, *, is_kept: bool) -> ZoneReading:
        decoded = decode_records(answer.body, max_items=self._provider.max_items)
        described = describe_elements(decoded)
        name_keys = [compute_name_key(each.name) for each in described]
        tally = Tally.of_chunks([(name_keys, bytes(each.kind for each in described))])
        self._zone = self._make_zone(answer, decoded, described, tally) if is_kept else None
        return ZoneReading(answer, decoded, None, count_endpoints(decoded.endpoints), tally)

    def _make_zone(
        self, answer: RecordsAnswer, decoded: DecodedRecords, described: Sequence[Element], tally: Tally
    ) -> _Zone | None:
        elements = cut_elements(answer.body, max_items=self._provider.max_items)
        repeated = _list_repeated(decoded.endpoints)
        if elements is None or len(repeated) + len(decoded.set_aside) > _MOST_APART:
            return None
        are_linked = may_be_linked_by_name(decoded.endpoints)
        ((name_keys, kinds),) = tally.chunks
        known = remember_response(answer.body, elements, name_keys, kinds)
        if known is not None:
            return _Zone(known, repeated, are_linked)
        index = RollingIndex()
        for draft in draft_chunks(elements, described, self._hasher):
            index.append(draft)
        return _Zone(index, repeated, are_linked)


def _are_most(names: Collection[str], zone: _Zone) -> bool:
    """Whether to find what is linked with the names takes longer than to decode all of the response."""
    return len(names) > max(_MOST_LINKED, _LARGEST_SHARE_LINKED * len(zone.known.tally.kinds))


def _load_accepted(provider: Provider) -> _Zone | None:
    index = fetch_accepted_index(provider)
    if index is None:
        return None
    chunks = fetch_chunks(index)
    # Read otherwise, what did not change may have other owners.
    is_read_so = bytes(index.reading_digest) == fetch_reading(provider).digest
    return _Zone(
        RollingIndex(chunks.heads, chunks),
        frozenset(index.names_in_order),
        are_linked=True,
        changed=frozenset() if is_read_so else None,
    )


def _list_repeated(endpoints: Iterable[Endpoint]) -> frozenset[str]:
    """The canonical names at which several endpoints have one identity."""
    counted = Counter((each.dns_name, each.record_type, each.set_identifier) for each in endpoints)
    return frozenset(canonical_name(name) for (name, _, _), count in counted.items() if count > 1)


def _remember(body: bytes, elements: Sequence[msgspec.Raw], index: RollingIndex) -> KnownResponse | None:
    """A response by the chunks of its index, where these follow one another in it."""
    if not all(head.digest for head in index.heads):
        return None
    name_keys = list(chain.from_iterable(head.name_keys for head in index.heads))
    return remember_response(body, elements, name_keys, index.tally.kinds)


def _count(tally: Tally, repeated: Iterable[str], decoded: DecodedRecords) -> Counts:
    """What `count_endpoints` says of a whole response. `decoded` has all that is at the repeated names."""
    keys = frozenset(map(compute_name_key, repeated))
    counts = tally.count_endpoints()
    if not keys:
        return counts
    apart = [each for each in decoded.endpoints if compute_name_key(canonical_name(each.dns_name)) in keys]
    return counts.minus(tally.at(keys).count_endpoints()).plus(count_endpoints(apart))
