"""The index of a ConfigMap registry: a person can read it, and nothing wrong in it is followed."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.configmap.layout import FIRST_PLACE, Places, format_index, parse_index
from providers.wire.endpoint import EndpointKey
from tests.depth import examples

FIRST = "blue-cluster-storage"


def make_places(*names: str) -> Places:
    further = [(f"{FIRST}-{number}", EndpointKey(name, "A", "")) for number, name in enumerate(names, 1)]
    return [(FIRST, FIRST_PLACE), *further]


def test_it_says_which_names_are_in_which_map() -> None:
    assert json.loads(format_index(make_places("m.example.org"))) == {
        "version": 2,
        "shards": [{"map": FIRST}, {"map": f"{FIRST}-1", "from": ["m.example.org", "A", ""]}],
    }


@settings(deadline=None)
@given(names=st.lists(st.text("abcz.", min_size=1), max_size=8, unique=True))
def test_every_index_is_read_again(names: list[str]) -> None:
    places = make_places(*sorted(names))

    assert parse_index(format_index(places), FIRST) == places


def test_an_index_of_an_earlier_release_is_followed() -> None:
    further = {"map": f"{FIRST}-1", "rows": 7, "digest": "0b", "from": ["m.example.org", "A", ""]}
    text = {"version": 1, "generation": 3, "shards": [{"map": FIRST, "rows": 2, "digest": "0a"}, further]}

    assert parse_index(json.dumps({**text, "cutting": {}}), FIRST) == make_places("m.example.org")


def odd_indexes() -> list[Any]:
    good = json.loads(format_index(make_places("m.example.org")))
    first, second = good["shards"]
    third = {**second, "map": f"{FIRST}-2"}
    return [
        None,
        [],
        {},
        {**good, "version": 3},
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
