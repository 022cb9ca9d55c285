"""Whatever is sent, reading it ends in a value or in our own refusal."""

import base64
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from registry_app.api.pagination import parse_cursor
from registry_app.api.problem import InvalidParameter, MalformedBody
from registry_app.api.request import parse_body
from registry_app.models import RecordSet
from registry_app.queries.keyset import BY_NAME, NEWEST_FIRST, Keyset
from tests.factories import make_administrator, make_finding, make_provider, make_record_set
from tests.registry_app.api.client import API, make_client, read

_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)
_KEYSETS = st.sampled_from([BY_NAME, NEWEST_FIRST, Keyset(("name_reversed", "id"))])


def _depth(value: Any) -> int:
    if isinstance(value, dict | list):
        children = value.values() if isinstance(value, dict) else value
        return 1 + max(map(_depth, children), default=0)
    return 0


@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,\\u0dN9a ', max_size=40).map(str.encode))
@settings(deadline=None)
def test_any_bytes_are_a_value_or_a_malformed_body(raw: bytes) -> None:
    try:
        value = parse_body(raw)
    except MalformedBody:
        return
    assert json.dumps(value)


@given(_VALUES)
@settings(deadline=None)
def test_what_is_good_json_is_read_as_it_was_written(value: Any) -> None:
    raw = json.dumps(value).encode()

    if _depth(value) <= 8:
        assert parse_body(raw) == value
    else:
        with pytest.raises(MalformedBody):
            parse_body(raw)


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(deadline=None)
def test_numbers_with_a_point_are_read_too(number: float) -> None:
    value = parse_body(json.dumps(number).encode())

    assert math.isclose(value, number)


@given(_KEYSETS, st.text(max_size=60))
@settings(deadline=None)
def test_any_text_is_a_cursor_or_refused(keyset: Keyset, text: str) -> None:
    try:
        position = parse_cursor(keyset, text)
    except InvalidParameter:
        return
    assert len(position) == len(keyset.columns)


@given(_KEYSETS, _VALUES)
@settings(deadline=None)
def test_any_json_in_a_cursor_is_a_position_or_refused(keyset: Keyset, value: Any) -> None:
    text = base64.urlsafe_b64encode(json.dumps([list(keyset.ordering), value]).encode()).decode()

    try:
        position = parse_cursor(keyset, text.rstrip("="))
    except InvalidParameter:
        return
    assert isinstance(position[-1], int)
    assert all(isinstance(column, str) for column in position[:-1])


@pytest.fixture
def client(db: None) -> APIClient:
    make_record_set(make_provider())
    make_finding()
    return make_client(make_administrator())


@pytest.mark.parametrize(
    "values",
    [
        ["www.example.org", 10**30],
        ["www.example.org", -(10**30)],
        ["\ud800", 1],
        ["a\0b", 1],
        ["x" * 5000, 1],
        ["www.example.org", 1.5],
        ["www.example.org", True],
        [None, 1],
        [1, 1],
    ],
)
def test_a_forged_cursor_never_breaks_a_page(client: APIClient, values: list[Any]) -> None:
    text = base64.urlsafe_b64encode(json.dumps([["name", "id"], values]).encode()).decode().rstrip("=")

    response = client.get(f"{API}/record-sets/?cursor={text}")

    assert response.status_code in {200, 400}


@pytest.mark.parametrize(
    "at",
    [
        "0001-01-01T00:00:00%2B14:00",
        "9999-12-31T23:59:59-14:00",
        "2026-02-30T00:00:00Z",
        "99999999999999999999",
        "T",
        "2026-11-21",
    ],
)
def test_a_time_out_of_this_world_is_refused_or_finds_nothing(client: APIClient, at: str) -> None:
    response = client.get(f"{API}/record-sets/?updated_since={at}")

    assert response.status_code in {200, 400}


@pytest.mark.parametrize("method", ["options", "put", "delete", "trace"])
def test_a_method_nobody_offers_is_refused(client: APIClient, method: str) -> None:
    response = client.generic(method.upper(), f"{API}/record-sets/")

    assert response.status_code == 405
    assert read(response)["code"] == "method_not_allowed"
    assert RecordSet.objects.count() == 1


def test_a_head_is_answered_like_a_get_without_a_body(client: APIClient) -> None:
    response = client.head(f"{API}/record-sets/")

    assert response.status_code == 200
    assert response.content == b""
