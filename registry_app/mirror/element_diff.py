"""How the elements of a response differ from those of the stored chunks. Pure.

Chunks are in the order of the response they were made of. Most stand where they stood; in some a few elements
have others in their place; what is left is searched by hash, in whatever order it came.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import msgspec

from providers.wire.elements import HASH_BYTES, ElementHasher, sum_hashes
from registry_app.mirror.element_index import (
    ChunkDraft,
    ChunkHead,
    ChunkSource,
    Element,
    compute_name_key,
)
from registry_app.mirror.moved_elements import Gap, MovedElements, find_moved

# After so many chunks in a row that are not where they were, the others are not looked for there.
_MOST_MISSES = 30
# A chunk of which more elements were replaced may as well stand elsewhere.
_LARGEST_SHARE_REPLACED = 0.1


@dataclass(frozen=True)
class Replaced:
    """A chunk that stands where it stood, from `start` on, with other elements at some of its places."""

    start: int
    hashes: Sequence[bytes]
    places: Sequence[int]


def is_reordered(
    elements: Sequence[msgspec.Raw], heads: Sequence[ChunkHead], hashes: Sequence[bytes]
) -> bool:
    """Whether a response, whose `hashes` are given, has the elements of the stored chunks in any order."""
    if len(elements) != sum(head.size for head in heads):
        return False
    return sum_hashes(hashes) == sum(head.hash_sum for head in heads) % (1 << 8 * HASH_BYTES)


def may_be_reordered(
    elements: Sequence[msgspec.Raw], heads: Sequence[ChunkHead], hasher: ElementHasher
) -> bool:
    """Whether neither the first nor the last chunk stands where it stood."""
    first, last = heads[0], heads[-1]
    ends = ((first, elements[: first.size]), (last, elements[len(elements) - last.size :]))
    return all(head.digest != hasher.hash_all(part) for head, part in ends)


def compare_elements(
    elements: Sequence[msgspec.Raw],
    heads: Sequence[ChunkHead],
    source: ChunkSource,
    hasher: ElementHasher,
    hashes: Sequence[bytes] | None = None,
) -> "ElementDiff":
    """How a response differs from the stored chunks. Reads the hashes of those that changed. `hashes` are
    those of all elements, where they are known."""
    hash_range = _build_hash_range(elements, hasher, hashes)
    starts = _place_chunks(elements, heads, hasher)
    stored = source.fetch_hashes([index for index, start in enumerate(starts) if start is None])
    replaced = _find_replaced(heads, starts, stored, hash_range, len(elements))
    for index, each in replaced.items():
        starts[index] = each.start
    gaps = _list_gaps(starts, heads, len(elements))
    for gap in gaps:
        if gap.first == gap.last and heads:
            # Elements between two chunks: one of the two takes them.
            index = max(gap.first - 1, 0)
            starts[index] = None
            if replaced.pop(index, None) is None:
                stored = {**stored, **source.fetch_hashes([index])}
    gaps = _list_gaps(starts, heads, len(elements))
    found = list(chain.from_iterable(hash_range(gap.start, gap.end) for gap in gaps))
    moved = find_moved(elements, heads, gaps, found, stored, source, hasher)
    return ElementDiff(elements, heads, starts, replaced, moved, source, hasher)


def _build_hash_range(
    elements: Sequence[msgspec.Raw], hasher: ElementHasher, hashes: Sequence[bytes] | None
) -> Callable[[int, int], Sequence[bytes]]:
    if hashes is not None:
        return lambda start, end: hashes[start:end]
    return lambda start, end: hasher.hash_each(elements[start:end])


@dataclass(frozen=True)
class ElementDiff:
    """How a response differs from stored chunks. Elements go by their position in the response, chunks by
    their index among the heads. Made by `compare_elements`.

    `starts` say where a chunk stands, those of `replaced` included; what else there is, is in `moved`.
    """

    elements: Sequence[msgspec.Raw]
    heads: Sequence[ChunkHead]
    starts: Sequence[int | None]
    replaced: Mapping[int, Replaced]
    moved: MovedElements
    source: ChunkSource
    hasher: ElementHasher

    @property
    def is_same(self) -> bool:
        """Whether both have the same elements, in whatever order. Where a few changed places with others
        nearby, they count as replaced."""
        return not self.moved.changed and not any(each.places for each in self.replaced.values())

    @cached_property
    def new(self) -> list[int]:
        """The elements that are in no chunk; of one that is listed more often than before, the further ones
        at least."""
        found = [each.start + place for each in self.replaced.values() for place in each.places]
        return found + self.moved.new

    @cached_property
    def gone(self) -> frozenset[str]:
        """The names of elements that are in a chunk and not in the response. What is listed more often or
        less often than before is in `new`, in `gone`, or in both."""
        found = (self._names[index][place] for index, each in self.replaced.items() for place in each.places)
        return frozenset(self.moved.gone.union(found))

    def collect_name_keys(self, new: Mapping[int, Element]) -> set[int]:
        """The name keys of all elements, and maybe those of some that are gone. `new` describes the new
        ones."""
        found = {compute_name_key(each.name) for each in new.values()}
        return found.union(*(head.name_keys for head in self.heads))

    def select(self, wanted: frozenset[int], new: Mapping[int, Element]) -> list[int]:
        """The elements whose name key is wanted, in the order of the response."""
        found = self.moved.select(wanted, new)
        for index, start in enumerate(self.starts):
            if start is not None:
                keys = self._list_keys(index, start, new)
                if not wanted.isdisjoint(keys):
                    found += [start + place for place, key in enumerate(keys) if key in wanted]
        found.sort()
        return found

    def draft_changed(self, new: Mapping[int, Element]) -> list[ChunkDraft]:
        """The chunks that must be stored anew."""
        drafts = []
        for index, each in self.replaced.items():
            if not each.places:
                continue
            names, kinds = self._names[index], self.heads[index].kinds
            found = {place: new[each.start + place] for place in each.places}
            described = None
            if any(element != (names[place], kinds[place]) for place, element in found.items()):
                before = enumerate(map(Element, names, kinds))
                described = [found.get(place, element) for place, element in before]
            end = each.start + len(each.hashes)
            digest = self.hasher.hash_all(self.elements[each.start : end])
            drafts.append(ChunkDraft(self.heads[index].number, digest, each.hashes, described))
        return drafts + self.moved.draft_changed(new)

    @cached_property
    def _names(self) -> Mapping[int, Sequence[str]]:
        return self.source.fetch_names([index for index, each in self.replaced.items() if each.places])

    def _list_keys(self, index: int, start: int, new: Mapping[int, Element]) -> Sequence[int]:
        keys, replaced = self.heads[index].name_keys, self.replaced.get(index)
        if replaced is None:
            return keys
        keys = list(keys)
        for place in replaced.places:
            keys[place] = compute_name_key(new[start + place].name)
        return keys


def _place_chunks(
    elements: Sequence[msgspec.Raw], heads: Sequence[ChunkHead], hasher: ElementHasher
) -> list[int | None]:
    """Where each chunk stands as it is: from the front, from the back, and in between where the number of
    elements before it did not change."""
    starts: list[int | None] = [None] * len(heads)

    def is_at(index: int, start: int) -> bool:
        head = heads[index]
        return bool(head.digest) and head.digest == hasher.hash_all(elements[start : start + head.size])

    first, start, last, end = 0, 0, len(heads), len(elements)
    while first < last and is_at(first, start):
        starts[first], start, first = start, start + heads[first].size, first + 1
    while (
        last > first and end - heads[last - 1].size >= start and is_at(last - 1, end - heads[last - 1].size)
    ):
        last, end = last - 1, end - heads[last - 1].size
        starts[last] = end
    misses = 0
    for index in range(first, last):
        if misses > _MOST_MISSES or start + heads[index].size > end:
            break
        if is_at(index, start):
            starts[index], misses = start, 0
        else:
            misses += 1
        start += heads[index].size
    return starts


def _list_gaps(starts: Sequence[int | None], heads: Sequence[ChunkHead], total: int) -> list[Gap]:
    gaps: list[Gap] = []
    first, position = 0, 0
    for index, start in enumerate((*starts, total)):
        if start is None:
            continue
        if index > first or start > position:
            gaps.append(Gap(first, index, position, start))
        if index < len(heads):
            first, position = index + 1, start + heads[index].size
    return gaps


def _find_replaced(
    heads: Sequence[ChunkHead],
    starts: Sequence[int | None],
    stored: Mapping[int, Sequence[bytes]],
    hash_range: Callable[[int, int], Sequence[bytes]],
    total: int,
) -> dict[int, Replaced]:
    """The chunks that stand where they stood but for a few elements; found as long as the number of elements
    before them is the same."""
    found: dict[int, Replaced] = {}
    ends = _list_ends(starts, total)
    position = misses = 0
    for index, head in enumerate(heads):
        placed = starts[index]
        start, position = (position if placed is None else placed), position + head.size
        if placed is not None:
            position = placed + head.size
            continue
        if position > ends[index] or misses > _MOST_MISSES:
            break
        hashes = hash_range(start, position)
        pairs = zip(hashes, stored[index], strict=True)
        places = [place for place, (now, before) in enumerate(pairs) if now != before]
        if len(places) <= _LARGEST_SHARE_REPLACED * head.size:
            found[index], misses = Replaced(start, hashes, places), 0
        else:
            misses += 1
    return found


def _list_ends(starts: Sequence[int | None], total: int) -> list[int]:
    """Where the next chunk stands that stands as it is, for each chunk."""
    ends: list[int] = []
    for start in reversed(starts):
        ends.append(total)
        total = total if start is None else start
    return ends[::-1]
