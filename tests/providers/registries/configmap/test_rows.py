"""Rows of a ConfigMap registry: four fields every reader knows, ours beside them, and nothing believed."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.configmap.rows import Row, build_row, format_rows, parse_rows
from providers.wire.endpoint import Endpoint
from providers.wire.errors import RecordTooLarge, WireError
from tests.depth import examples
from tests.providers.registries.configmap.values import BLUE, ROWS

WWW = Endpoint(dns_name="www.example.org", targets=("192.0.2.1",), record_type="A")
PROPOSED = {"dnsname": "www.example.org", "owner": BLUE, "target": "192.0.2.1", "type": "A"}


def parse_one(value: object) -> Row:
    (row,) = parse_rows(json.dumps([value]), max_items=10)
    return row


@settings(deadline=None)
@given(rows=st.lists(ROWS, max_size=6))
def test_what_is_written_is_read_again(rows: list[Row]) -> None:
    found = parse_rows(format_rows(row.raw for row in rows), max_items=10)

    assert found == rows


@settings(deadline=None)
@given(rows=st.lists(ROWS, max_size=4))
def test_an_old_reader_finds_the_fields_of_the_proposal(rows: list[Row]) -> None:
    read = json.loads(format_rows(row.raw for row in rows))

    assert [(each["owner"], each["target"], each["type"]) for each in read] == [
        (row.owner_id, row.targets[0] if row.targets else "", row.key.record_type) for row in rows
    ]


def test_a_row_of_the_proposal_is_written_as_the_proposal_has_it() -> None:
    row = build_row(WWW, BLUE, {})

    assert row.raw == msgspec.json.encode(PROPOSED)
    assert parse_one(PROPOSED) == row


def test_several_targets_a_set_identifier_and_labels_stand_beside_the_four_fields() -> None:
    record = msgspec.structs.replace(WWW, targets=("192.0.2.1", "192.0.2.2"), set_identifier="eu")

    row = build_row(record, BLUE, {"resource": "ingress/shop/www"})

    assert json.loads(row.raw) == {
        **PROPOSED,
        "targets": ["192.0.2.1", "192.0.2.2"],
        "set": "eu",
        "labels": {"resource": "ingress/shop/www"},
    }


@pytest.mark.parametrize(
    "odd",
    [
        {**PROPOSED, "owner": 7},
        {**PROPOSED, "Owner": "green-cluster"},
        {**PROPOSED, "target": ["192.0.2.1"]},
        {**PROPOSED, "targets": ["192.0.2.2", "192.0.2.1"]},
        {**PROPOSED, "targets": "192.0.2.1"},
        {**PROPOSED, "target": "a\x00b"},
        {**PROPOSED, "labels": {"resource": 5}},
        {**PROPOSED, "labels": ["resource"]},
        {**PROPOSED, "note": ["by", {"hand": 1}]},
    ],
)
def test_a_row_that_cannot_be_believed_says_so_and_the_others_live(odd: dict[str, object]) -> None:
    found = parse_rows(json.dumps([odd, PROPOSED]), max_items=10)

    assert found[0].problem
    assert found[1:] == [build_row(WWW, BLUE, {})]


@pytest.mark.parametrize(
    "odd",
    [
        5,
        None,
        "row",
        [PROPOSED],
        {},
        {**PROPOSED, "dnsname": ""},
        {**PROPOSED, "dnsname": "a b.example.org"},
        {**PROPOSED, "dnsname": "x" * 300},
        {**PROPOSED, "type": None},
        {**PROPOSED, "type": "A" * 30},
        {**PROPOSED, "set": 5},
        {**PROPOSED, "note": "x" * 70_000},
    ],
)
def test_a_row_of_no_record_set_is_kept_as_it_stands(odd: object) -> None:
    found = parse_rows(json.dumps([odd, PROPOSED]), max_items=10)

    assert [json.loads(row.raw) for row in found if not row.key.record_type] == [odd]
    assert found[0].problem
    assert len(found) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[",
        "[1,",
        "[1 2]",
        "[]x",
        "hello",
        "5",
        "[tru]",
        "[NaN]",
        '["\\x"]',
        '["\\ud800"]',
        "\ufeff[]",
        "[" * 100_000,
    ]
    + [json.dumps([PROPOSED])[:cut] for cut in range(1, 60, 7)],
)
def test_what_is_no_json_array_is_no_empty_list(text: str) -> None:
    with pytest.raises(WireError):
        parse_rows(text, max_items=10)


def test_an_empty_list_is_one_also_as_a_go_program_writes_it() -> None:
    assert parse_rows("[]", 10) == parse_rows(" [ ]\n", 10) == parse_rows("null", 10) == []


def test_more_rows_than_allowed_are_refused() -> None:
    with pytest.raises(WireError, match="more than 3"):
        parse_rows(json.dumps([PROPOSED] * 4), max_items=3)


def test_a_row_no_reader_would_take_is_not_written() -> None:
    with pytest.raises(RecordTooLarge):
        build_row(WWW, BLUE, {"resource": "x" * 70_000})


@settings(deadline=None, max_examples=examples(300))
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["dnsname", "owner", "target", "type", "targets", "set", "labels", "x"]),
                inner,
            )
        ),
        max_leaves=12,
    )
)
def test_no_hostile_row_raises(value: object) -> None:
    try:
        found = parse_rows(json.dumps([value]), max_items=10)
    except WireError:
        return

    assert len(found) == 1
