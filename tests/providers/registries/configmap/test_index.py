"""The index of a ConfigMap registry: a person can read it, and nothing wrong in it is followed."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.configmap.layout import (
    MAX_SHARDS,
    Index,
    ShardMark,
    build_index,
    format_index,
    format_mark,
    parse_index,
    parse_mark,
    split_shard,
)
from providers.registries.errors import RegistryError
from providers.wire.endpoint import EndpointKey
from tests.depth import examples

FIRST = "blue-cluster-storage"


def split_at(index: Index, *names: str, number: int = 0) -> Index:
    return split_shard(index, number, [EndpointKey(name, "A", "") for name in names])


def test_it_says_which_names_are_in_which_map_and_how_many() -> None:
    index = split_at(build_index(FIRST), "m.example.org")

    assert json.loads(format_index(index, [10, 7])) == {
        "version": 1,
        "generation": 1,
        "shards": [
            {"map": FIRST, "rows": 10, "digest": index.shards[0].digest},
            {
                "map": f"{FIRST}-1",
                "rows": 7,
                "digest": index.shards[1].digest,
                "from": ["m.example.org", "A", ""],
            },
        ],
    }


@settings(deadline=None)
@given(names=st.lists(st.text("abcz.", min_size=1), max_size=8, unique=True))
def test_every_layout_is_read_again_after_each_split(names: list[str]) -> None:
    index = build_index(FIRST)
    for name in names:
        index = split_at(index, name, number=index.number_of(EndpointKey(name, "A", "")))

        assert parse_index(format_index(index, [0] * len(index.shards)), FIRST) == index
    assert [entry.start[0] for entry in index.shards if entry.start] == sorted(names)


def test_the_announcement_of_a_split_by_an_earlier_release_is_passed_over() -> None:
    index = split_at(build_index(FIRST), "m.example.org")
    split = {"map": FIRST, "into": [{"map": f"{FIRST}-2", "rows": 1, "digest": "ab", "from": ["a", "A", ""]}]}

    text = json.dumps({**json.loads(format_index(index, [0, 0])), "cutting": split})

    assert parse_index(text, FIRST) == index


def test_a_shard_s_mark_is_read_again() -> None:
    index = split_at(build_index(FIRST), "m.example.org")

    shard = index.shards[1]
    for cut in (0, 3):
        assert parse_mark(format_mark(shard, cut)) == ShardMark(1, shard.digest, shard.start, cut)


def test_a_shard_of_another_layout_has_another_digest() -> None:
    once = split_at(build_index(FIRST), "m.example.org")
    again = split_at(once, "p.example.org", number=1)

    assert len({entry.digest for entry in (*once.shards, *again.shards)}) == 3


def test_names_that_are_taken_by_others_are_left_to_them() -> None:
    index = split_shard(build_index(FIRST), 0, [EndpointKey("m.example.org", "A", "")], {f"{FIRST}-1"})

    assert [entry.name for entry in index.shards] == [FIRST, f"{FIRST}-2"]


def test_there_is_an_end_to_splitting() -> None:
    starts = [EndpointKey(f"n{number:05d}.example.org", "A", "") for number in range(MAX_SHARDS)]

    with pytest.raises(RegistryError, match=str(MAX_SHARDS)):
        split_shard(build_index(FIRST), 0, starts)


def odd_indexes() -> list[Any]:
    good = json.loads(format_index(split_at(build_index(FIRST), "m.example.org"), [1, 1]))
    first, second = good["shards"]
    third = {**second, "map": f"{FIRST}-2"}
    return [
        None,
        [],
        {},
        {**good, "version": 2},
        {**good, "version": "1"},
        {**good, "shards": []},
        {**good, "shards": [second]},
        {**good, "shards": [second, first]},
        {**good, "shards": [first, first]},
        {**good, "shards": [first, third, second]},
        {**good, "shards": [first, {**second, "map": "green-cluster-storage-1"}]},
        {**good, "shards": [first, {**second, "map": f"{FIRST}-0"}]},
        {**good, "shards": [first, {**second, "from": None}]},
        {**good, "shards": [first, {**second, "from": ["m", "A"]}]},
        {**good, "shards": [first, {**second, "from": ["m" * 300, "A", ""]}]},
        {**good, "shards": [{**first, "from": ["a", "A", ""]}, second]},
        {**good, "shards": [first] + [{**second, "map": f"{FIRST}-{n}"} for n in range(1, 300)]},
    ]


@pytest.mark.parametrize("odd", odd_indexes())
def test_an_index_that_cannot_be_followed_is_refused(odd: object) -> None:
    assert parse_index(json.dumps(odd), FIRST) is None


@settings(deadline=None, max_examples=examples(200))
@given(text=st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_no_hostile_text_is_an_index(text: str) -> None:
    assert parse_index(text, FIRST) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version":1}', "[" * 100_000, "x" * 1_000_000])
def test_a_mark_that_cannot_be_read_is_refused(text: str) -> None:
    assert parse_mark(text) is None


def test_a_mark_has_no_cut_unless_its_shard_is_split() -> None:
    assert parse_mark('{"version":1,"digest":"ab"}') == ShardMark(1, "ab")
