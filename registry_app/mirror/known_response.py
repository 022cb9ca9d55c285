"""A response whose elements are described: of the next one only what differs is cut and decoded. Pure.

Two responses in a row have most of their bytes in common, and comparing bytes costs next to nothing. So this
one is kept in chunks of elements. A chunk that stands in the next response byte for byte needs no more than
that comparison; what is between two such chunks is cut. It must be a list of whole elements by itself: then
those beside it are whole elements, too. Whatever this cannot tell is read as a whole.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import msgspec

from providers.wire.canonical_name import canonical_name
from providers.wire.elements import cut_elements, join_elements
from providers.wire.json_codec import decode_records
from registry_app.mirror.chunked_body import ChunkedBody, Region, find_close
from registry_app.mirror.element_index import (
    CHUNK_SIZE,
    SET_ASIDE_ELEMENT,
    Element,
    Tally,
    compute_name_key,
)

# A larger one is not kept: an index of hashes is smaller.
LARGEST_KNOWN_BODY = 64 * 2**20
# Elements beyond this, of which as large a share is new, are cheaper to read all at once.
_MOST_NEW = 1_000
_LARGEST_SHARE_NEW = 0.3
# Elements are added mostly at the end: a chunk grows, and is divided when it is as large as this.
_LARGEST_CHUNK = 2 * CHUNK_SIZE


class _Chunk(NamedTuple):
    """Elements that follow one another. `size` is in bytes, with the commas between them."""

    size: int
    name_keys: Sequence[int]
    kinds: bytes


class _Described(NamedTuple):
    """An element, with the key of its name."""

    element: bytes
    name_key: int
    kind: int


class _Places:
    """In which chunks there may be elements with a name key. Keys are only ever added: of a response that
    became another one it says too much, never too little, so several responses may share it."""

    def __init__(self, chunks: Iterable[_Chunk]) -> None:
        self._chunk_of: dict[int, int] = {}
        self._further: dict[int, set[int]] = {}
        for index, chunk in enumerate(chunks):
            self.add(index, chunk.name_keys)

    def __len__(self) -> int:
        return len(self._chunk_of)

    def add(self, index: int, name_keys: Iterable[int]) -> None:
        keys = set(name_keys)
        for key in self._chunk_of.keys() & keys:
            self._further.setdefault(key, set()).add(self._chunk_of[key])
        self._chunk_of.update(dict.fromkeys(keys, index))

    def may_have(self, name_key: int) -> bool:
        return name_key in self._chunk_of

    def find(self, name_keys: Iterable[int]) -> list[int]:
        """The chunks where one of these keys may be, in order."""
        found = {self._chunk_of[key] for key in name_keys if key in self._chunk_of}
        return sorted(found.union(*(self._further[key] for key in name_keys if key in self._further)))


class KnownResponse:
    """A response of which the name and the kind of each element are known. A value: `Difference.apply` makes
    that of the next response."""

    def __init__(self, body: bytes, chunks: Sequence[_Chunk], places: _Places) -> None:
        self.body = body
        self._chunks = chunks
        self._places = places
        self._text = ChunkedBody(body, [each.size for each in chunks])

    def may_have(self, name: str) -> bool:
        """Whether there may be an element with a canonical name."""
        return self._places.may_have(compute_name_key(name))

    def select(self, name_keys: frozenset[int]) -> list[msgspec.Raw]:
        """The elements with one of these name keys, in their order."""
        found: list[msgspec.Raw] = []
        for index in self._places.find(name_keys):
            keys = self._chunks[index].name_keys
            if not name_keys.isdisjoint(keys):
                pairs = zip(self._cut(index), keys, strict=True)
                found += [element for element, key in pairs if key in name_keys]
        return found

    @cached_property
    def tally(self) -> Tally:
        """All its elements, counted."""
        return Tally.of_chunks([(each.name_keys, each.kinds) for each in self._chunks])

    def compare(self, body: bytes, *, max_items: int) -> "Difference | None":
        """How the next response differs; None where that takes a reading of all of it."""
        if body == self.body:
            return Difference(self, body, (), (), ())
        regions = self._text.find_regions(body)
        parts = None if regions is None else [_cut_region(body, each) for each in regions]
        if regions is None or parts is None or not all(parts):
            return None
        before = [each for region in regions for each in self._describe(region)]
        count = len(self.tally.kinds) - len(before) + sum(map(len, parts))
        found = Difference(self, body, regions, before, parts)
        is_small = len(found.new) <= max(_MOST_NEW, _LARGEST_SHARE_NEW * count)
        return found if count <= max_items and is_small else None

    def replace(
        self, body: bytes, regions: Sequence[Region], parts: Sequence[Sequence["_Described"]]
    ) -> "KnownResponse":
        """That of the next response, which has `parts` in place of the chunks of `regions`."""
        chunks: list[_Chunk] = []
        places: _Places | None = (
            self._places if len(self._places) <= 2 * len(self.tally.kinds) + _MOST_NEW else None
        )
        end = 0
        for region, part in zip(regions, parts, strict=True):
            chunks += self._chunks[end : region.first]
            made, end = list(_make_chunks(part, region.last - region.first)), region.last
            if len(made) != region.last - region.first:
                places = None
            if places is not None:
                for index, chunk in enumerate(made, start=region.first):
                    places.add(index, chunk.name_keys)
            chunks += made
        chunks += self._chunks[end:]
        return KnownResponse(body, chunks, places if places is not None else _Places(chunks))

    def _describe(self, region: Region) -> Iterator["_Described"]:
        for index in range(region.first, region.last):
            chunk = self._chunks[index]
            elements = map(bytes, self._cut(index))
            yield from map(_Described, elements, chunk.name_keys, chunk.kinds)

    def _cut(self, index: int) -> list[msgspec.Raw]:
        text = b"[%b]" % bytes(self._text.cut(index, index + 1))
        return cut_elements(text, max_items=len(text)) or []


@dataclass(frozen=True)
class Difference:
    """How a response differs from a known one. Made by `KnownResponse.compare`.

    `before` is what stood in the `regions`, `parts` what stands there now.
    """

    known: KnownResponse
    body: bytes
    regions: Sequence[Region]
    before: Sequence[_Described]
    parts: Sequence[Sequence[bytes]]

    @cached_property
    def new(self) -> list[msgspec.Raw]:
        """The elements that were not there; of one that is listed more often than before, the further ones at
        least."""
        return [msgspec.Raw(each) for each in chain.from_iterable(self.parts) if each in self._changed]

    @cached_property
    def gone(self) -> frozenset[str]:
        """The names of elements that were there and are not. What is listed more often or less often than
        before is in `new`, in `gone`, or in both."""
        found = {each.element for each in self.before if each.element in self._changed}
        body = join_elements([msgspec.Raw(each) for each in found])
        decoded = decode_records(body, max_items=len(found))
        names = frozenset(canonical_name(each.dns_name) for each in decoded.endpoints)
        return names | {SET_ASIDE_ELEMENT.name} if decoded.set_aside else names

    def apply(self, new: Sequence[Element]) -> KnownResponse:
        """The response that it is, where `new` describes the new elements."""
        if not self.regions and self.body == self.known.body:
            return self.known
        described = {each.element: each for each in self.before}
        fresh = iter(new)

        def describe(element: bytes) -> _Described:
            if element not in self._changed:
                return described[element]
            name, kind = next(fresh)
            return _Described(element, compute_name_key(name), kind)

        parts = [list(map(describe, part)) for part in self.parts]
        return self.known.replace(self.body, self.regions, parts)

    @cached_property
    def _changed(self) -> frozenset[bytes]:
        """What is not equally often in both."""
        before, now = Counter(each.element for each in self.before), Counter(chain.from_iterable(self.parts))
        return frozenset(each for each in before.keys() | now.keys() if before[each] != now[each])


def remember_response(
    body: bytes, elements: Sequence[msgspec.Raw], name_keys: Sequence[int], kinds: bytes
) -> KnownResponse | None:
    """A response of which all elements are described. None for a large one, and for one with white space
    between its elements: where they are is then not known."""
    if len(body) > LARGEST_KNOWN_BODY:
        return None
    sizes = list(map(len, elements))
    if find_close(body) != 1 + _add_sizes(sizes):
        return None
    chunks = []
    for start in range(0, len(sizes), CHUNK_SIZE):
        end = start + CHUNK_SIZE
        size = _add_sizes(sizes[start:end])
        chunks.append(_Chunk(size, name_keys[start:end], kinds[start:end]))
    return KnownResponse(body, chunks, _Places(chunks))


def _make_chunks(part: Sequence[_Described], count: int) -> Iterator[_Chunk]:
    """As many chunks as there were, unless they would be empty or too large."""
    if not count <= len(part) <= _LARGEST_CHUNK * count:
        count = -(-len(part) // CHUNK_SIZE)
    bounds = [number * len(part) // count for number in range(count + 1)]
    for start, end in pairwise(bounds):
        some = part[start:end]
        size = _add_sizes([len(each.element) for each in some])
        yield _Chunk(size, tuple(each.name_key for each in some), bytes(each.kind for each in some))


def _cut_region(body: bytes, region: Region) -> list[bytes]:
    """The elements of a region; empty where it is none but elements with commas between them."""
    text = body[region.start : region.end]
    elements = cut_elements(b"[%b]" % text, max_items=len(text))
    found = list(map(bytes, elements or ()))
    return found if _add_sizes(list(map(len, found))) == len(text) else []


def _add_sizes(sizes: Sequence[int]) -> int:
    """Of elements with the commas between them."""
    return sum(sizes) + max(len(sizes) - 1, 0)
