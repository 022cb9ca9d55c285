"""Elements that do not stand where their chunks stood: searched by hash. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import msgspec

from providers.wire.elements import ElementHasher
from registry_app.mirror.element_index import ChunkDraft, ChunkHead, ChunkSource, compute_name_key


class Gap(NamedTuple):
    """Chunks `first` to `last`, this one not included, that do not stand in the response as they are, and the
    positions `start` to `end` where their elements are unless the order is another one."""

    first: int
    last: int
    start: int
    end: int


@dataclass(frozen=True)
class MovedElements:
    """The elements of a response in some gaps, compared with the chunks that stood there. Elements go by
    their position in the response, chunks by their index among the heads. Made by `find_moved`.

    `stored` are the hashes of the chunks, `hashes` those at `positions`; `changed` are not equally often in
    both.
    """

    elements: Sequence[msgspec.Raw]
    heads: Sequence[ChunkHead]
    gaps: Sequence[Gap]
    positions: Sequence[int]
    hashes: Sequence[bytes]
    stored: Mapping[int, Sequence[bytes]]
    changed: frozenset[bytes]
    source: ChunkSource
    hasher: ElementHasher

    @cached_property
    def new(self) -> list[int]:
        """The elements that are in no chunk; of one that is listed more often than before, all."""
        found = zip(self.positions, self.hashes, strict=True)
        return [position for position, each in found if each in self.changed]

    @cached_property
    def gone(self) -> set[str]:
        """The names of elements that are in a chunk and not in the response; of one that is listed more often
        or less often than before, too."""
        return {name for each, name in self._list_stored() if each in self.changed} if self.changed else set()

    def list_name_keys(self, new_names: Mapping[int, str]) -> Iterator[tuple[int, int]]:
        """Each position with the name key of its element. `new_names` are the names of new ones."""
        keys: dict[bytes, int] = {}
        for index, hashes in self.stored.items():
            keys.update(zip(hashes, self.heads[index].name_keys, strict=True))
        for position, each in zip(self.positions, self.hashes, strict=True):
            name = new_names.get(position)
            yield position, keys[each] if name is None else compute_name_key(name)

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

    def _find_starts(self, gap: Gap) -> dict[int, int]:
        """Where the first element of each chunk that is still there stands now."""
        found: dict[int, int] = {}
        for index in range(gap.first, gap.last):
            first = next((each for each in self.stored[index] if each in self._position_of), None)
            if first is not None:
                found[index] = self._position_of[first]
        return found

    def _draft_by_position(
        self, gap: Gap, starts: Mapping[int, int], new_names: Mapping[int, str]
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


def find_moved(
    elements: Sequence[msgspec.Raw],
    heads: Sequence[ChunkHead],
    gaps: Sequence[Gap],
    hashes: Sequence[bytes],
    hashes_of: Mapping[int, Sequence[bytes]],
    source: ChunkSource,
    hasher: ElementHasher,
) -> MovedElements:
    """Compare what is in the gaps, with these `hashes`, with the chunks that stood there, whose hashes
    `hashes_of` has."""
    positions = [position for gap in gaps for position in range(gap.start, gap.end)]
    stored = {index: hashes_of[index] for gap in gaps for index in range(gap.first, gap.last)}
    changed = _find_changed(hashes, [each for found in stored.values() for each in found])
    return MovedElements(elements, heads, gaps, positions, hashes, stored, changed, source, hasher)


def _find_changed(now: Sequence[bytes], before: Sequence[bytes]) -> frozenset[bytes]:
    """What is not equally often in both."""
    these, those = set(now), set(before)
    changed = these ^ those
    if len(these) < len(now) or len(those) < len(before):
        counts, known = Counter(now), Counter(before)
        changed |= {each for each in these & those if counts[each] != known[each]}
    return frozenset(changed)
