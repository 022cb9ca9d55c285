"""How the elements of a response differ from those of the stored chunks. Pure.

Chunks are in the order of the response they were made of. Where a response has another order, they are
searched by hash, and keep theirs.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import msgspec

from providers.wire.elements import ElementHasher
from registry_app.mirror.element_index import ChunkDraft, ChunkHead, ChunkSource, compute_name_key

# After so many chunks in a row that are not where they were, the others are searched by hash.
_MOST_MISSES = 8


class _Gap(NamedTuple):
    """Chunks `first` to `last`, this one not included, that do not stand in the response as they are, and the
    positions `start` to `end` where their elements are unless the order is another one."""

    first: int
    last: int
    start: int
    end: int


def compare_elements(
    elements: Sequence[msgspec.Raw], heads: Sequence[ChunkHead], source: ChunkSource, hasher: ElementHasher
) -> "ElementDiff":
    """How a response differs from the stored chunks. Reads hashes of those that changed alone."""
    starts = _place_chunks(elements, heads, hasher)
    gaps = _list_gaps(starts, heads, len(elements))
    if any(gap.first == gap.last for gap in gaps) and heads:
        # Elements between two chunks: one of the two takes them.
        for gap in gaps:
            if gap.first == gap.last:
                starts[max(gap.first - 1, 0)] = None
        gaps = _list_gaps(starts, heads, len(elements))
    positions = [position for gap in gaps for position in range(gap.start, gap.end)]
    stored = source.fetch_hashes([index for gap in gaps for index in range(gap.first, gap.last)])
    hashes = hasher.hash_each([elements[position] for position in positions])
    changed = _find_changed(hashes, [each for found in stored.values() for each in found])
    return ElementDiff(elements, heads, starts, gaps, positions, hashes, stored, changed, source, hasher)


@dataclass(frozen=True)
class ElementDiff:
    """How a response differs from stored chunks. Elements go by their position in the response, chunks by
    their index among the heads. Made by `compare_elements`.

    `starts` say where a chunk stands in the response as it is; for all others there are `stored` hashes, and
    for the `positions` that no such chunk covers there are `hashes`. `changed` are the hashes that are not
    equally often in both.
    """

    elements: Sequence[msgspec.Raw]
    heads: Sequence[ChunkHead]
    starts: Sequence[int | None]
    gaps: Sequence[_Gap]
    positions: Sequence[int]
    hashes: Sequence[bytes]
    stored: Mapping[int, Sequence[bytes]]
    changed: frozenset[bytes]
    source: ChunkSource
    hasher: ElementHasher

    @property
    def is_same(self) -> bool:
        """Whether both have the same elements, in whatever order."""
        return not self.changed

    @cached_property
    def new(self) -> list[int]:
        """The elements that are in no chunk; of one that is listed more often than before, the further ones
        at least."""
        found = zip(self.positions, self.hashes, strict=True)
        return [position for position, each in found if each in self.changed]

    @cached_property
    def gone(self) -> frozenset[str]:
        """The names of elements that are in a chunk and not in the response. What is listed more often or less
        often than before is in `new`, in `gone`, or in both."""
        return frozenset(name for each, name in self._list_stored() if each in self.changed)

    def list_name_keys(self, new_names: Mapping[int, str]) -> list[int]:
        """The name key of each element. `new_names` are the names of new ones."""
        found = [0] * len(self.elements)
        for head, start in zip(self.heads, self.starts, strict=True):
            if start is not None:
                found[start : start + head.size] = head.name_keys
        keys: dict[bytes, int] = {}
        for index, hashes in self.stored.items():
            keys.update(zip(hashes, self.heads[index].name_keys, strict=True))
        for position, each in zip(self.positions, self.hashes, strict=True):
            name = new_names.get(position)
            found[position] = keys[each] if name is None else compute_name_key(name)
        return found

    def draft_changed(self, new_names: Mapping[int, str]) -> list[ChunkDraft]:
        """The chunks that must be stored anew."""
        starts = [self._find_starts(gap) for gap in self.gaps]
        if any(before >= after for found in starts for before, after in pairwise(found.values())):
            return list(self._draft_by_membership(new_names))
        return [
            draft
            for gap, found in zip(self.gaps, starts, strict=True)
            for draft in self._draft_by_position(gap, found, new_names)
        ]

    @cached_property
    def _names(self) -> Mapping[int, Sequence[str]]:
        return self.source.fetch_names(list(self.stored))

    def _list_stored(self) -> Iterator[tuple[bytes, str]]:
        for index, hashes in self.stored.items():
            yield from zip(hashes, self._names[index], strict=True)

    @cached_property
    def _name_of(self) -> Mapping[bytes, str]:
        return {each: name for each, name in self._list_stored() if each not in self.changed}

    @cached_property
    def _position_of(self) -> Mapping[bytes, int]:
        found = zip(self.hashes, self.positions, strict=True)
        return {each: position for each, position in found if each not in self.changed}

    @cached_property
    def _hash_at(self) -> Mapping[int, bytes]:
        return dict(zip(self.positions, self.hashes, strict=True))

    def _find_starts(self, gap: _Gap) -> dict[int, int]:
        """Where the first element of each chunk that is still there stands now."""
        found: dict[int, int] = {}
        for index in range(gap.first, gap.last):
            first = next((each for each in self.stored[index] if each in self._position_of), None)
            if first is not None:
                found[index] = self._position_of[first]
        return found

    def _draft_by_position(
        self, gap: _Gap, starts: Mapping[int, int], new_names: Mapping[int, str]
    ) -> Iterator[ChunkDraft]:
        """The order is the same: each chunk has what stands from its first element to that of the next."""
        cuts = [gap.end]
        for index in reversed(range(gap.first + 1, gap.last)):
            cuts.append(starts.get(index, cuts[-1]))
        cuts.append(gap.start)
        for index, (end, start) in zip(reversed(range(gap.first, gap.last)), pairwise(cuts), strict=True):
            head, hashes = self.heads[index], [self._hash_at[place] for place in range(start, end)]
            if not head.digest or hashes != self.stored[index]:
                names = [new_names.get(place) for place in range(start, end)]
                named = [
                    self._name_of[each] if name is None else name
                    for name, each in zip(names, hashes, strict=True)
                ]
                yield ChunkDraft(head.number, self.hasher.hash_all(self.elements[start:end]), hashes, named)

    def _draft_by_membership(self, new_names: Mapping[int, str]) -> Iterator[ChunkDraft]:
        """The order is another one: each chunk keeps what is still there, and takes the new elements at the
        names of those that are gone."""
        home: dict[str, int] = {}
        indexes: set[int] = set()
        for index, hashes in self.stored.items():
            for each, name in zip(hashes, self._names[index], strict=True):
                if each in self.changed:
                    home[name] = index
                    indexes.add(index)
        last = max(self.stored)
        taken: dict[int, list[int]] = {}
        for position in self.new:
            taken.setdefault(home.get(new_names[position], last), []).append(position)
        for index in sorted(indexes.union(taken)):
            kept = [
                (each, name)
                for each, name in zip(self.stored[index], self._names[index], strict=True)
                if each not in self.changed
            ]
            kept += [(self._hash_at[place], new_names[place]) for place in taken.get(index, ())]
            yield ChunkDraft(
                self.heads[index].number, b"", [each for each, _ in kept], [name for _, name in kept]
            )


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


def _list_gaps(starts: Sequence[int | None], heads: Sequence[ChunkHead], total: int) -> list[_Gap]:
    gaps: list[_Gap] = []
    first, position = 0, 0
    for index, start in enumerate((*starts, total)):
        if start is None:
            continue
        if index > first or start > position:
            gaps.append(_Gap(first, index, position, start))
        if index < len(heads):
            first, position = index + 1, start + heads[index].size
    return gaps


def _find_changed(now: Sequence[bytes], before: Sequence[bytes]) -> frozenset[bytes]:
    """What is not equally often in both."""
    these, those = set(now), set(before)
    changed = these ^ those
    if len(these) < len(now) or len(those) < len(before):
        counts, known = Counter(now), Counter(before)
        changed |= {each for each in these & those if counts[each] != known[each]}
    return frozenset(changed)
