"""Elements that do not stand where their chunks stood: searched by hash. Pure.

There may be as many as the response has: whatever goes through all of them is one pass of a set, a dictionary
or a comprehension, and names are read only of chunks that changed.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import msgspec

from providers.wire.elements import ElementHasher
from registry_app.mirror.element_index import (
    ChunkDraft,
    ChunkHead,
    ChunkSource,
    Element,
    compute_name_key,
)


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

    `stored` are the hashes of the chunks, `hashes` those of the elements in the gaps; `place_of` has the last
    position of each, `earlier` the others, of elements that are listed several times; `changed` are not
    equally often in both.
    """

    elements: Sequence[msgspec.Raw]
    heads: Sequence[ChunkHead]
    gaps: Sequence[Gap]
    hashes: Sequence[bytes]
    stored: Mapping[int, Sequence[bytes]]
    place_of: Mapping[bytes, int]
    earlier: Sequence[tuple[int, bytes]]
    changed: frozenset[bytes]
    source: ChunkSource
    hasher: ElementHasher

    @cached_property
    def new(self) -> list[int]:
        """The elements that are in no chunk; of one that is listed more often than before, all."""
        return [place for place, _ in self._new_hashes]

    @cached_property
    def gone(self) -> set[str]:
        """The names of elements that are in a chunk and not in the response; of one that is listed more often
        or less often than before, too."""
        return {
            name
            for index, names in self._changed_names.items()
            for each, name in zip(self.stored[index], names, strict=True)
            if each in self.changed
        }

    def select(self, wanted: frozenset[int], new: Mapping[int, Element]) -> list[int]:
        """The positions of the elements whose name key is wanted. `new` describes the new ones."""
        known: set[bytes] = set()
        for index, hashes in self.stored.items():
            keys = self.heads[index].name_keys
            if not wanted.isdisjoint(keys):
                known.update(each for each, key in zip(hashes, keys, strict=True) if key in wanted)
        known -= self.changed
        found = [place for place, _ in self._find_places(known)]
        return found + [place for place in self.new if compute_name_key(new[place].name) in wanted]

    def draft_changed(self, new: Mapping[int, Element]) -> list[ChunkDraft]:
        """The chunks that must be stored anew."""
        starts = self._find_starts()
        if any(before >= after for found in starts for before, after in pairwise(found.values())):
            return list(self._draft_by_membership(new))
        return self._draft_by_position(starts, new)

    @cached_property
    def _new_hashes(self) -> list[tuple[int, bytes]]:
        return sorted(self._find_places(self.changed))

    def _find_places(self, hashes: Collection[bytes]) -> list[tuple[int, bytes]]:
        """Where these hashes are in the response, as far as they are."""
        found = [(self.place_of[each], each) for each in hashes if each in self.place_of]
        return found + [pair for pair in self.earlier if pair[1] in hashes]

    @cached_property
    def _changed_names(self) -> Mapping[int, Sequence[str]]:
        """The names of each chunk that has an element that changed."""
        chunks = [index for index, hashes in self.stored.items() if not self.changed.isdisjoint(hashes)]
        return self.source.fetch_names(chunks) if chunks else {}

    def _fetch_described(self, hashes: Collection[bytes]) -> dict[bytes, Element]:
        """Stored elements by their hashes, and others of the same chunks."""
        chunks = [index for index, found in self.stored.items() if not set(found).isdisjoint(hashes)]
        described: dict[bytes, Element] = {}
        for index, names in self.source.fetch_names(chunks).items():
            described.update(zip(self.stored[index], self._describe(index, names), strict=True))
        return described

    def _describe(self, index: int, names: Sequence[str]) -> Iterator[Element]:
        return map(Element, names, self.heads[index].kinds)

    def _find_starts(self) -> list[dict[int, int]]:
        """Where the first element of each chunk that is still there stands now, for each gap."""
        firsts: dict[int, bytes] = {}
        for index, hashes in self.stored.items():
            first = next((each for each in hashes if each not in self.changed), None)
            if first is not None:
                firsts[index] = first
        return [
            {index: self.place_of[firsts[index]] for index in range(gap.first, gap.last) if index in firsts}
            for gap in self.gaps
        ]

    def _draft_by_position(
        self, starts: Sequence[Mapping[int, int]], new: Mapping[int, Element]
    ) -> list[ChunkDraft]:
        """The order is the same: each chunk has what stands from its first element to that of the next."""
        found: list[tuple[int, int, int, Sequence[bytes]]] = []
        before = 0
        for gap, places in zip(self.gaps, starts, strict=True):
            for index, start, end in _list_ranges(gap, places):
                offset = before - gap.start
                hashes = self.hashes[start + offset : end + offset]
                if not self.heads[index].digest or hashes != self.stored[index]:
                    found.append((index, start, end, hashes))
            before += gap.end - gap.start
        known = self._fetch_described({each for *_, hashes in found for each in hashes})
        drafts = []
        for index, start, end, hashes in found:
            pairs = zip(range(start, end), hashes, strict=True)
            described = [new.get(place) or known[each] for place, each in pairs]
            digest = self.hasher.hash_all(self.elements[start:end])
            drafts.append(ChunkDraft(self.heads[index].number, digest, hashes, described))
        return drafts

    def _draft_by_membership(self, new: Mapping[int, Element]) -> Iterator[ChunkDraft]:
        """The order is another one: each chunk keeps what is still there. A new element takes the place of
        one that is gone and had its name, so that most names stay; the last chunk takes the others."""
        arrived: dict[str, list[tuple[bytes, Element]]] = {}
        for place, each in self._new_hashes:
            arrived.setdefault(new[place].name, []).append((each, new[place]))
        drafts = {
            index: self._replace_changed(index, names, arrived)
            for index, names in self._changed_names.items()
        }
        others = list(chain.from_iterable(arrived.values()))
        if others:
            last = max(self.stored)
            drafts[last] = self._append(drafts.get(last), last, others)
        yield from drafts.values()

    def _replace_changed(
        self, index: int, names: Sequence[str], arrived: Mapping[str, list[tuple[bytes, Element]]]
    ) -> ChunkDraft:
        """A chunk with what `arrived` has in place of what is gone; that loses it."""
        hashes, kinds = list(self.stored[index]), self.heads[index].kinds
        places = [place for place, each in enumerate(hashes) if each in self.changed]
        replaced: dict[int, Element] = {}
        for place in places:
            if arrived.get(names[place]):
                hashes[place], replaced[place] = arrived[names[place]].pop()
        if all(replaced.get(place) == (names[place], kinds[place]) for place in places):
            return ChunkDraft(self.heads[index].number, b"", hashes, None)
        gone = set(places).difference(replaced)
        described = enumerate(self._describe(index, names))
        return ChunkDraft(
            self.heads[index].number,
            b"",
            [each for place, each in enumerate(hashes) if place not in gone],
            [replaced.get(place, element) for place, element in described if place not in gone],
        )

    def _append(
        self, draft: ChunkDraft | None, index: int, others: Sequence[tuple[bytes, Element]]
    ) -> ChunkDraft:
        """A chunk, as it was drafted or is stored, with more elements behind its own."""
        hashes = self.stored[index] if draft is None else draft.hashes
        described = None if draft is None else draft.described
        if described is None:
            described = list(self._describe(index, self.source.fetch_names([index])[index]))
        return ChunkDraft(
            self.heads[index].number,
            b"",
            [*hashes, *(each for each, _ in others)],
            [*described, *(element for _, element in others)],
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
    positions = list(chain.from_iterable(range(gap.start, gap.end) for gap in gaps))
    stored = {index: hashes_of[index] for gap in gaps for index in range(gap.first, gap.last)}
    place_of = dict(zip(hashes, positions, strict=True))
    earlier: list[tuple[int, bytes]] = []
    if len(place_of) < len(positions):
        pairs = zip(positions, hashes, strict=True)
        earlier = [(place, each) for place, each in pairs if place_of[each] != place]
    changed = _find_changed(hashes, stored, place_of)
    return MovedElements(elements, heads, gaps, hashes, stored, place_of, earlier, changed, source, hasher)


def _find_changed(
    now: Sequence[bytes], stored: Mapping[int, Sequence[bytes]], place_of: Mapping[bytes, int]
) -> frozenset[bytes]:
    """What is not equally often in both."""
    known = set().union(*stored.values())
    if len(known) < sum(map(len, stored.values())) or len(place_of) < len(now):
        counts, before = Counter(now), Counter(chain.from_iterable(stored.values()))
        return frozenset(each for each in counts.keys() | known if counts[each] != before[each])
    # The fastest way there is: both sides are walked once, in C, and nothing is copied.
    known.symmetric_difference_update(place_of)
    return frozenset(known)


def _list_ranges(gap: Gap, starts: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
    """Each chunk of a gap with the positions it has now: the first, and the one after the last."""
    end = gap.end
    for index in reversed(range(gap.first, gap.last)):
        start = starts.get(index, end) if index > gap.first else gap.start
        yield index, start, end
        end = start
