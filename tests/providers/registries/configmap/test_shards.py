"""Shards: each below its size, together all rows, and one row changed is one shard changed."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.configmap.registry import (
    INDEX,
    INTENTS,
    RECORDS,
    SHARD,
    MapData,
    Registry,
    UnreadableRegistry,
    read_registries,
)
from providers.registries.configmap.rows import NO_ENTRY, Entries, Entry, Row, build_row, group_rows
from providers.registries.configmap.writing import WritePlan
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.providers.registries.configmap.values import BLUE, ROWS, make_data, make_rows

FIRST = f"{BLUE}-storage"
LIMIT = 4_000


def write(maps: dict[str, MapData], edits: dict[EndpointKey, Entry]) -> dict[str, MapData]:
    """The maps after these edits, made where a shard takes no more than the limit."""
    plan = WritePlan({BLUE: read(maps)} if maps else {}, maps, LIMIT)
    plan.add(BLUE, edits)
    for commit in plan.commits:
        maps = maps | {name: make_data(name, data) for name, data in commit.writes}
        maps = {name: data for name, data in maps.items() if name not in commit.obsolete}
    return maps


def cut(rows: list[Row], intents: list[Row] | None = None) -> dict[str, MapData]:
    """The maps of a registry with these rows, in several shards where they are too many for one."""
    return write({}, group_rows(rows, intents or []))


def read(maps: dict[str, MapData], max_items: int = 100_000) -> Registry:
    return read_registries(maps, max_items)[BLUE]


def rows_of(entries: Entries) -> list[Row]:
    return [row for entry in entries.values() for row in entry.rows]


def rows_in(registry: Registry) -> list[Row]:
    return rows_of(registry.entries)


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

    kept = {name for name in maps if name in after and after[name].texts == maps[name].texts}
    assert len(kept) == len(maps) - 2  # the first, and the shard that was made anew under another name
    assert {each.key: each for each in rows_in(read(after))} == {each.key: each for each in rows} | {
        row.key: new
    }
    assert len(after) == len(maps) > 2


def test_a_shard_that_lost_its_last_row_goes() -> None:
    rows = make_rows(100)
    maps = cut(rows)
    gone = read(maps).shards[2].entries

    after = write(maps, dict.fromkeys(gone, NO_ENTRY))

    assert rows_in(read(after)) == [row for row in rows if row.key not in gone]
    assert len(after) == len(maps) - 1


def test_intents_go_with_their_record_sets() -> None:
    intents = make_rows(60)

    maps = cut([], intents)

    found = [each for entry in read(maps).entries.values() for each in entry.intents]
    assert found == intents
    assert len(maps) > 2
    assert all(INTENTS in data.texts for name, data in maps.items() if name != FIRST)


def test_a_shard_of_a_single_row_is_not_split() -> None:
    (row,) = make_rows(1, resource="x" * 10_000)

    maps = cut([row])

    assert [len(shard.entries) for shard in read(maps).shards] == [0, 1]
    assert write(maps, {row.key: Entry((row,))}) == maps


def test_a_map_without_index_is_all_there_is() -> None:
    rows = make_rows(3)
    (data,) = cut(rows).values()

    registry = read({FIRST: make_data(FIRST, {RECORDS: data.texts[RECORDS]}), f"{FIRST}-1": data})

    assert rows_in(registry) == rows


def damage(maps: dict[str, MapData], name: str, **texts: str | None) -> dict[str, MapData]:
    merged = {**maps[name].texts, **texts}
    return {**maps, name: make_data(name, {key: text for key, text in merged.items() if text is not None})}


@pytest.mark.parametrize("what", ["gone", "no records", "not json", "odd index", "first gone", "no index"])
def test_a_registry_that_is_not_whole_is_not_read_at_all(what: str) -> None:
    maps = cut(make_rows(100))
    second = f"{FIRST}-1"
    damaged = {
        "gone": {name: data for name, data in maps.items() if name != second},
        "no records": damage(maps, second, records=None),
        "not json": damage(maps, second, records=maps[second].texts[RECORDS][:-1]),
        "odd index": damage(maps, FIRST, index="[]"),
        "first gone": {name: data for name, data in maps.items() if name != FIRST},
        "no index": damage(maps, FIRST, index=None),
    }[what]

    with pytest.raises(UnreadableRegistry, match=FIRST):
        read(damaged)


def test_what_stands_in_another_shard_than_the_index_says_does_not_count() -> None:
    maps = cut(make_rows(100))
    second, third = f"{FIRST}-1", f"{FIRST}-2"

    registry = read(damage(maps, second, records=maps[third].texts[RECORDS]))

    assert rows_in(registry) == [row for shard in read(maps).shards[2:] for row in rows_of(shard.entries)]


def test_the_rows_of_all_shards_together_are_bounded() -> None:
    maps = cut(make_rows(100))

    with pytest.raises(UnreadableRegistry, match="more than"):
        read(maps, max_items=99)


def test_a_mark_stands_in_every_shard_but_the_first_which_has_the_index() -> None:
    maps = cut(make_rows(100))

    assert [name for name, data in maps.items() if SHARD not in data.texts] == [FIRST]
    assert [name for name, data in maps.items() if INDEX in data.texts] == [FIRST]
