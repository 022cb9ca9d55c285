"""Shards: each below its size, together all rows, and one row changed is one shard changed."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.configmap.layout import (
    build_index,
    format_index,
    format_mark,
    split_shard,
)
from providers.registries.configmap.registry import (
    INDEX,
    INTENTS,
    RECORDS,
    SHARD,
    MapData,
    Registry,
    UnreadableRegistry,
    read_registry,
)
from providers.registries.configmap.rows import Entry, Row, build_row, group_rows
from providers.registries.configmap.writing import WritePlan, find_cuts
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.providers.registries.configmap.values import BLUE, ROWS, make_data, make_rows

FIRST = f"{BLUE}-storage"
LIMIT = 4_000


def write(maps: dict[str, MapData], edits: dict[EndpointKey, Entry]) -> dict[str, MapData]:
    """The maps after these edits, made where a shard takes no more than the limit."""
    plan = WritePlan({BLUE: read(maps)} if maps else {}, maps, LIMIT)
    plan.add(BLUE, edits)
    return {**maps, **{each.name: make_data(each.name, each.data) for each in plan.writes}}


def cut(rows: list[Row], intents: list[Row] | None = None) -> dict[str, MapData]:
    """The maps of a registry with these rows, in several shards where they are too many for one."""
    return write({}, group_rows(rows, intents or []))


def read(maps: dict[str, MapData]) -> Registry:
    return read_registry(BLUE, maps, max_items=100_000)


def rows_in(registry: Registry) -> list[Row]:
    return [row for entry in registry.entries.values() for row in entry.rows]


@settings(deadline=None)
@given(rows=st.lists(ROWS, min_size=1, max_size=60, unique_by=lambda row: row.key), seed=st.randoms())
def test_whatever_the_rows_every_shard_is_small_and_together_they_are_all_rows(
    rows: list[Row], seed: random.Random
) -> None:
    shuffled = list(rows)
    seed.shuffle(shuffled)

    maps = cut(rows)

    sizes = [sum(len(k) + len(v.encode()) for k, v in data.texts.items()) for data in maps.values()]
    assert max(sizes) <= LIMIT
    assert sorted(rows_in(read(maps)), key=lambda row: row.key) == sorted(rows, key=lambda row: row.key)
    assert {name: data.texts for name, data in cut(shuffled).items()} == {
        name: data.texts for name, data in maps.items()
    }


@settings(deadline=None)
@given(number=st.integers(0, 199), others=st.integers(60, 200))
def test_one_row_changed_is_one_shard_changed(number: int, others: int) -> None:
    rows = make_rows(others)
    maps = cut(rows)
    row = rows[number % others]
    new = build_row(Endpoint(row.key.name, ("192.0.2.99",), "A"), BLUE, row.labels, row)

    after = write(maps, {row.key: Entry((new,))})

    (name,) = [name for name in maps if after[name].texts != maps[name].texts]
    assert {each.key: each for each in rows_in(read(after))} == {each.key: each for each in rows} | {
        row.key: new
    }
    assert len(after) == len(maps) > 1
    if name == FIRST:
        assert after[FIRST].texts[INDEX] == maps[FIRST].texts[INDEX]


def test_intents_go_with_their_record_sets() -> None:
    intents = make_rows(60)

    maps = cut([], intents)

    found = [each for entry in read(maps).entries.values() for each in entry.intents]
    assert found == intents
    assert len(maps) > 1
    assert all(INTENTS in data.texts for data in maps.values())


def test_a_shard_of_a_single_row_is_not_split() -> None:
    (row,) = make_rows(1, resource="x" * 10_000)
    index = split_shard(build_index(FIRST), 0, [row.key])

    registry = Registry(BLUE, index, ({}, {row.key: Entry((row,))}))

    assert find_cuts(registry, 1, LIMIT) == []


def test_a_map_without_index_is_all_there_is() -> None:
    rows = make_rows(3)
    (data,) = cut(rows).values()

    registry = read({FIRST: make_data(FIRST, {RECORDS: data.texts[RECORDS]}), f"{FIRST}-1": data})

    assert rows_in(registry) == rows


def damage(maps: dict[str, MapData], name: str, **texts: str | None) -> dict[str, MapData]:
    merged = {**maps[name].texts, **texts}
    return {**maps, name: make_data(name, {key: text for key, text in merged.items() if text is not None})}


@pytest.mark.parametrize("what", ["gone", "no records", "no mark", "other layout", "not json", "odd index"])
def test_a_registry_that_is_not_whole_is_not_read_at_all(what: str) -> None:
    maps = cut(make_rows(100))
    second = f"{FIRST}-1"
    other = split_shard(build_index(FIRST), 0, [EndpointKey("a", "A", "")])
    damaged = {
        "gone": {name: data for name, data in maps.items() if name != second},
        "no records": damage(maps, second, records=None),
        "no mark": damage(maps, second, shard=None),
        "other layout": damage(maps, second, shard=format_mark(other.shards[1])),
        "not json": damage(maps, second, records=maps[second].texts[RECORDS][:-1]),
        "odd index": damage(maps, FIRST, index=format_index(other, [0, 0])),
    }[what]

    with pytest.raises(UnreadableRegistry, match=FIRST):
        read(damaged)


def test_what_a_shard_gave_away_does_not_count_and_what_a_hand_put_there_is_doubtful() -> None:
    maps = cut(make_rows(100))
    second = f"{FIRST}-1"
    stray = maps[FIRST].texts[RECORDS]
    cut_mark = format_mark(read(maps).index.shards[1], cut=1)

    given_away = read(damage(maps, second, records=stray, shard=cut_mark))
    by_hand = read(damage(maps, second, records=stray))

    strays = {key: entry for key, entry in by_hand.shards[1].items() if key in read(maps).shards[0]}
    in_others = [
        row
        for name, data in maps.items()
        if name != second
        for entry in data.entries.values()
        for row in entry.rows
    ]
    assert sorted(rows_in(given_away), key=lambda row: row.key) == sorted(in_others, key=lambda row: row.key)
    assert all("another shard" in row.problem for entry in strays.values() for row in entry.rows)
    assert len(strays) > 1
    assert strays.keys() == {claim.key for claim in by_hand.claims if claim.problem}


def test_the_rows_of_all_shards_together_are_bounded() -> None:
    maps = cut(make_rows(100))

    with pytest.raises(UnreadableRegistry, match="more than"):
        read_registry(BLUE, maps, max_items=99)


def test_a_mark_stands_in_every_shard_but_the_first() -> None:
    maps = cut(make_rows(100))

    assert [SHARD in data.texts for data in maps.values()] == [False] + [True] * (len(maps) - 1)
