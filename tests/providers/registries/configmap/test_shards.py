"""Shards: each below its size, together all rows, and one row changed is one shard changed."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.configmap.index import (
    announce_cut,
    build_index,
    build_mark,
    finish_cut,
    format_index,
    format_mark,
)
from providers.registries.configmap.registry import MapData, Registry, UnreadableRegistry, read_registry
from providers.registries.configmap.rows import Row, RowList, build_row
from providers.registries.configmap.shards import (
    INDEX,
    INTENTS,
    RECORDS,
    SHARD,
    Edit,
    NoRoom,
    Shard,
    apply_edits,
    count_rows,
    find_cuts,
    format_data,
    measure,
    select_rows,
    trim_rows,
)
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.providers.registries.configmap.values import BLUE, ROWS, make_rows

FIRST = f"{BLUE}-storage"
LIMIT = 4_000


def cut(rows: list[Row], limit: int = LIMIT) -> dict[str, MapData]:
    """The maps of a registry with these rows, cut once where it is too large."""
    index = build_index(FIRST, len(rows))
    shard = apply_edits(Shard(index.shards[0]), {row.key: Edit(row.key, row) for row in rows})
    if measure(shard, index) <= limit:
        return {FIRST: make_data(format_data(shard, index))}
    cuts = find_cuts(shard, index, limit)
    index = finish_cut(announce_cut(index, FIRST, cuts, count_rows(shard, cuts)))
    maps = {FIRST: make_data(format_data(trim_rows(shard, cuts[0]), index))}
    for entry, end in zip(index.shards[1:], [*cuts[1:], None], strict=True):
        maps[entry.name] = make_data(format_data(select_rows(shard, entry, end, build_mark(entry)), index))
    return maps


def make_data(data: dict[str, str | None]) -> MapData:
    return MapData({key: value for key, value in data.items() if value is not None})


def read(maps: dict[str, MapData]) -> Registry:
    return read_registry(BLUE, maps, max_items=100_000)


@settings(deadline=None)
@given(rows=st.lists(ROWS, max_size=60, unique_by=lambda row: row.key), seed=st.randoms())
def test_whatever_the_rows_every_shard_is_small_and_together_they_are_all_rows(
    rows: list[Row], seed: random.Random
) -> None:
    shuffled = list(rows)
    seed.shuffle(shuffled)

    maps = cut(rows)

    sizes = [sum(len(k) + len(v.encode()) for k, v in data.texts.items()) for data in maps.values()]
    assert max(sizes) <= LIMIT
    assert sorted(read(maps).rows(), key=lambda row: row.key) == sorted(rows, key=lambda row: row.key)
    assert {name: data.texts for name, data in cut(shuffled).items()} == {
        name: data.texts for name, data in maps.items()
    }


@settings(deadline=None)
@given(number=st.integers(0, 199), others=st.integers(60, 200))
def test_one_row_changed_is_one_shard_changed(number: int, others: int) -> None:
    rows = make_rows(others)
    maps = cut(rows)
    row = rows[number % others]
    registry = read(maps)
    new = build_row(Endpoint(row.key.name, ("192.0.2.99",), "A"), BLUE, row.labels, row)

    shard = registry.shard_of(row.key)
    written = make_data(format_data(apply_edits(shard, {row.key: Edit(row.key, new)}), registry.index))

    after = read({**maps, shard.entry.name: written})
    assert {each.key: each for each in after.rows()} == {each.key: each for each in rows} | {row.key: new}
    assert len(maps) > 1
    if shard.entry.name == FIRST:
        assert written.texts[INDEX] == maps[FIRST].texts[INDEX]


def test_intents_go_with_their_record_sets() -> None:
    index = build_index(FIRST, 0)
    intents = make_rows(60)
    shard = apply_edits(Shard(index.shards[0]), {row.key: Edit(row.key, None, row) for row in intents})

    cuts = find_cuts(shard, index, LIMIT)
    index = finish_cut(announce_cut(index, FIRST, cuts, count_rows(shard, cuts)))

    parts = [
        select_rows(shard, entry, end, build_mark(entry))
        for entry, end in zip(index.shards[1:], [*cuts[1:], None], strict=True)
    ]
    kept = [*trim_rows(shard, cuts[0]).intents.rows, *(row for part in parts for row in part.intents.rows)]
    assert kept == intents
    assert all(INTENTS in format_data(part, index) for part in parts)


def test_where_cutting_is_no_help_it_is_said() -> None:
    (row,) = make_rows(1, resource="x" * 10_000)
    start = (row.key.name, row.key.record_type, row.key.set_identifier)
    index = finish_cut(announce_cut(build_index(FIRST, 1), FIRST, [EndpointKey(*start)], [0, 1]))

    with pytest.raises(NoRoom, match=f"{FIRST}-1"):
        find_cuts(Shard(index.shards[1], build_mark(index.shards[1]), rows=RowList((row,))), index, LIMIT)


def test_a_map_without_index_is_all_there_is() -> None:
    rows = make_rows(3)
    (data,) = cut(rows).values()

    registry = read({FIRST: MapData({RECORDS: data.texts[RECORDS]}), f"{FIRST}-1": data})

    assert list(registry.rows()) == rows


def damage(maps: dict[str, MapData], name: str, **texts: str | None) -> dict[str, MapData]:
    merged = {**maps[name].texts, **texts}
    return {**maps, name: make_data(merged)}


@pytest.mark.parametrize("what", ["gone", "no records", "no mark", "other layout", "not json", "odd index"])
def test_a_registry_that_is_not_whole_is_not_read_at_all(what: str) -> None:
    maps = cut(make_rows(100))
    second = f"{FIRST}-1"
    other = finish_cut(announce_cut(build_index(FIRST, 0), FIRST, [EndpointKey("a", "A", "")], [0, 0]))
    damaged = {
        "gone": {name: data for name, data in maps.items() if name != second},
        "no records": damage(maps, second, records=None),
        "no mark": damage(maps, second, shard=None),
        "other layout": damage(maps, second, shard=format_mark(build_mark(other.shards[1]))),
        "not json": damage(maps, second, records=maps[second].texts[RECORDS][:-1]),
        "odd index": damage(maps, FIRST, index=format_index(other)),
    }[what]

    with pytest.raises(UnreadableRegistry, match=FIRST):
        read(damaged)


def test_what_a_shard_gave_away_does_not_count_and_what_a_hand_put_there_is_doubtful() -> None:
    maps = cut(make_rows(100))
    second = f"{FIRST}-1"
    stray = maps[FIRST].texts[RECORDS]
    mark = read(maps).shards[1].mark
    assert mark is not None
    cut_mark = format_mark(build_mark(read(maps).index.shards[1], cut=1))

    given_away = read(damage(maps, second, records=stray, shard=cut_mark))
    by_hand = read(damage(maps, second, records=stray))

    assert not given_away.shards[1].rows.rows
    assert all("another shard" in row.problem for row in by_hand.shards[1].rows.rows)
    assert all(
        claim.problem
        for claim in by_hand.claims()
        if claim.key in {row.key for row in by_hand.shards[1].rows.rows}
    )


def test_the_rows_of_all_shards_together_are_bounded() -> None:
    maps = cut(make_rows(100))

    with pytest.raises(UnreadableRegistry, match="more than"):
        read_registry(BLUE, maps, max_items=99)


def test_a_mark_stands_in_every_shard_but_the_first() -> None:
    maps = cut(make_rows(100))

    assert [SHARD in data.texts for data in maps.values()] == [False] + [True] * (len(maps) - 1)
