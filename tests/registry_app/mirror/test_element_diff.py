"""Which elements of a response are new and which are gone, and the chunks to store for it."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.wire.elements import ElementHasher, cut_elements, sum_hashes
from registry_app.mirror.element_diff import ElementDiff, compare_elements, is_reordered
from registry_app.mirror.element_index import ChunkDraft, ChunkHead, Element, compute_name_key, draft_chunks
from tests.depth import examples

_HASHER = ElementHasher(b"seed")
# An element is a name and a value: most names have one element, few have several.
_ELEMENT = st.tuples(st.integers(0, 60), st.integers(0, 2))
_Zone = list[tuple[int, int]]


def _cut(zone: Sequence[tuple[int, int]]) -> list[msgspec.Raw]:
    found = cut_elements(msgspec.json.encode(zone), max_items=1_000)
    assert found is not None
    return found


def _name(element: tuple[int, int]) -> str:
    return f"name-{element[0]}"


def _describe(element: tuple[int, int]) -> Element:
    return Element(_name(element), element[1])


@dataclass
class _Stored:
    """Chunks as a database keeps them, and which of them were read."""

    drafts: list[ChunkDraft]
    read: list[int] = field(default_factory=list)

    @property
    def heads(self) -> list[ChunkHead]:
        return [
            ChunkHead(
                each.number,
                each.digest,
                sum_hashes(each.hashes),
                tuple(compute_name_key(element.name) for element in each.described or ()),
                bytes(element.kind for element in each.described or ()),
            )
            for each in self.drafts
        ]

    def fetch_hashes(self, indexes: Sequence[int]) -> Mapping[int, Sequence[bytes]]:
        self.read.extend(indexes)
        return {index: self.drafts[index].hashes for index in indexes}

    def fetch_names(self, indexes: Sequence[int]) -> Mapping[int, Sequence[str]]:
        return {index: [each.name for each in self.drafts[index].described or ()] for index in indexes}

    def store(self, changed: Sequence[ChunkDraft]) -> None:
        described = {each.number: each.described for each in self.drafts}
        by_number = {
            each.number: each._replace(described=each.described or described[each.number]) for each in changed
        }
        drafts = [by_number.get(each.number, each) for each in self.drafts]
        self.drafts = [each for each in drafts if each.hashes]


def _store(zone: _Zone, size: int = 4) -> _Stored:
    return _Stored(list(draft_chunks(_cut(zone), list(map(_describe, zone)), _HASHER, size=size)))


def _compare(stored: _Stored, zone: _Zone) -> ElementDiff:
    return compare_elements(_cut(zone), stored.heads, stored, _HASHER)


def _update(stored: _Stored, zone: _Zone) -> ElementDiff:
    diff = _compare(stored, zone)
    stored.store(diff.draft_changed({position: _describe(zone[position]) for position in diff.new}))
    return diff


def _edit(zone: _Zone, fresh: _Zone, dice: random.Random, how: str) -> _Zone:
    if how == "replaced":
        edited = list(zone)
        for each in fresh:
            edited[dice.randrange(len(edited))] = each
        return edited
    edited = [each for each in zone if dice.random() > 0.1]
    for each in fresh:
        edited.insert(dice.randrange(len(edited) + 1), each)
    if how == "shuffled":
        dice.shuffle(edited)
    if how == "turned":
        edited = edited[len(edited) // 2 :] + edited[: len(edited) // 2]
    return edited


@settings(deadline=None, max_examples=examples(3_000))
@given(
    st.lists(_ELEMENT, min_size=1, max_size=60),
    st.lists(
        st.tuples(st.lists(_ELEMENT, max_size=6), st.sampled_from(["as it was", "shuffled", "turned"])),
        max_size=4,
    ),
    st.sampled_from([4, 20]),
    st.randoms(use_true_random=False),
)
def test_after_any_changes_the_chunks_are_those_of_the_last_response(
    zone: _Zone, edits: list[tuple[_Zone, str]], size: int, dice: random.Random
) -> None:
    stored = _store(zone, size)
    for fresh, how in edits:
        before, zone = Counter(zone), _edit(zone, fresh, dice, how)
        if not stored.drafts:
            return
        diff = _compare(stored, zone)
        new = {position: _describe(zone[position]) for position in diff.new}

        # Of what is listed another number of times, some may stand where they stood.
        differing = {each for each in {*before, *zone} if before[each] != Counter(zone)[each]}
        moved_nearby = {zone[position] for position in diff.new} - differing
        assert moved_nearby == set() or diff.replaced
        assert diff.gone.union({each.name for each in new.values()}) >= {_name(each) for each in differing}
        wanted = {_name(each) for each in dice.sample(zone, min(3, len(zone)))}
        assert diff.select(frozenset(map(compute_name_key, wanted)), new) == [
            position for position, each in enumerate(zone) if _name(each) in wanted
        ]
        assert diff.collect_name_keys(new) >= {compute_name_key(_name(each)) for each in zone}
        stored.store(diff.draft_changed(new))
        kept = [
            pair for each in stored.drafts for pair in zip(each.hashes, each.described or (), strict=True)
        ]
        listed = zip(_HASHER.hash_each(_cut(zone)), map(_describe, zone), strict=True)
        assert Counter(kept) == Counter(listed)
        assert _compare(stored, zone).is_same


@settings(deadline=None, max_examples=examples(1_000))
@given(st.lists(_ELEMENT, min_size=1, max_size=60, unique=True), st.randoms(use_true_random=False))
def test_the_same_elements_in_any_order_are_the_same(zone: _Zone, dice: random.Random) -> None:
    stored = _store(zone)
    dice.shuffle(zone)

    diff = _compare(stored, zone)

    assert (diff.is_same, diff.new, diff.gone) == (True, [], frozenset())
    assert is_reordered(_cut(zone), stored.heads, _HASHER.hash_each(_cut(zone)))


@settings(deadline=None, max_examples=examples(1_000))
@given(st.lists(_ELEMENT, min_size=1, max_size=30), st.lists(_ELEMENT, min_size=1, max_size=30))
def test_other_elements_are_no_other_order(zone: _Zone, other: _Zone) -> None:
    stored, hashes = _store(zone), _HASHER.hash_each(_cut(other))

    assert is_reordered(_cut(other), stored.heads, hashes) == (Counter(zone) == Counter(other))
    known = compare_elements(_cut(other), stored.heads, stored, _HASHER, hashes)
    assert (known.new, known.gone) == (_compare(stored, other).new, _compare(stored, other).gone)


def test_the_same_response_reads_no_hash() -> None:
    zone = [(number, 0) for number in range(40)]
    stored = _store(zone)

    assert _compare(stored, zone).is_same
    assert stored.read == []


def test_one_change_reads_and_stores_one_chunk() -> None:
    zone = [(number, 0) for number in range(40)]
    stored = _store(zone)
    zone[21] = (21, 1)

    diff = _compare(stored, zone)

    assert diff.new == [21]
    assert stored.read == [5]
    assert [each.number for each in diff.draft_changed({21: _describe((21, 1))})] == [5]


def test_an_element_put_between_others_stores_one_chunk_and_moves_none() -> None:
    zone = [(number, 0) for number in range(40)]
    stored = _store(zone)
    zone.insert(18, (90, 0))

    diff = _update(stored, zone)
    again = _compare(stored, zone)

    assert diff.new == [18]
    assert [len(each.hashes) for each in stored.drafts] == [4, 4, 4, 4, 5, 4, 4, 4, 4, 4]
    assert again.is_same
    assert stored.read == [4]


def test_a_change_in_another_order_stores_the_chunk_that_it_belongs_to() -> None:
    zone = [(number, 0) for number in range(40)]
    stored = _store(zone)
    zone[21] = (21, 1)
    zone.reverse()

    diff = _compare(stored, zone)

    assert diff.new == [18]
    assert [each.number for each in diff.draft_changed({18: _describe((21, 1))})] == [5]


def test_a_change_in_another_order_leaves_the_names_of_its_chunk() -> None:
    zone = [(number, 0) for number in range(40)]
    stored = _store(zone)
    zone[21] = (21, 1)
    zone.reverse()

    diff = _compare(stored, zone)

    assert [each.described for each in diff.draft_changed({18: _describe((21, 0))})] == [None]


def test_what_has_no_place_in_another_order_is_in_the_last_chunk() -> None:
    zone = [(number, 0) for number in range(40)]
    stored = _store(zone)
    zone = [*zone[:21], *zone[22:], (90, 0)][::-1]

    _update(stored, zone)

    assert [len(each.hashes) for each in stored.drafts] == [4, 4, 4, 4, 4, 3, 4, 4, 4, 5]
    assert [each.name for each in stored.drafts[-1].described or ()] == [
        f"name-{number}" for number in (36, 37, 38, 39, 90)
    ]
    assert _compare(stored, zone).is_same
