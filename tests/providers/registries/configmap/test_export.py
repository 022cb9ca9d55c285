"""A registry as one document that outlives its cluster."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.configmap.export import export_registry, parse_export
from providers.registries.configmap.registry import read_registries
from providers.registries.configmap.rows import Row, format_rows
from providers.registries.errors import RegistryError
from providers.registries.export import UnusableExport
from providers.wire.endpoint import EndpointKey
from tests.depth import examples
from tests.providers.registries.configmap.values import BLUE, ROWS, make_data, make_registry, make_rows

OTHER = EndpointKey("other.example.org", "A", "")
WHEN = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@settings(deadline=None)
@given(
    rows=st.lists(ROWS, max_size=8, unique_by=lambda row: row.key),
    intents=st.lists(
        ROWS.filter(lambda row: row.owner_id == BLUE), max_size=3, unique_by=lambda row: row.key
    ),
)
def test_what_can_be_believed_is_read_back_and_the_rest_is_counted(
    rows: list[Row], intents: list[Row]
) -> None:
    export = parse_export(export_registry(make_registry(rows, intents), when=WHEN), max_items=100)

    assert (export.owner_id, export.exported_at) == (BLUE, WHEN)
    assert all(row in rows for row in export.rows)
    assert all(row in intents for row in export.intents)
    assert len(export.rows) + len(export.intents) + export.left_out == len(rows) + len(intents)


def test_a_person_can_read_it() -> None:
    document = json.loads(export_registry(make_registry(make_rows(2)), when=WHEN))

    assert document["kind"] == "configmap-registry"
    assert document["exportedAt"] == "2026-11-21T08:00:00Z"
    assert [row["dnsname"] for row in document["records"]] == ["n00000.example.org", "n00001.example.org"]


def test_rows_that_cannot_be_believed_stay_behind() -> None:
    twice = make_rows(1, resource="a") + make_rows(1, resource="b")
    others_twice = make_rows(5, owner="green-cluster", resource="a")[4:] * 2
    raws = [row.raw for row in (*twice, *others_twice, *make_rows(3)[1:])]
    odd = [b'{"dnsname":"odd.example.org","owner":5,"type":"A"}', b"1", b"2", b"{}", b"[]"]
    data = make_data(f"{BLUE}-storage", {"records": format_rows([*raws, *odd])})
    registry = read_registries({f"{BLUE}-storage": data}, max_items=100)[BLUE]

    export = parse_export(export_registry(registry, when=WHEN), max_items=100)

    assert [row.key.name for row in export.rows] == ["n00001.example.org", "n00002.example.org"]
    assert export.left_out == 9


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document[:-5],
        lambda document: b"",
        lambda document: b"[]",
        lambda document: b"{}",
        lambda document: b"hello",
        lambda document: b"{" * 100_000,
        lambda document: document + b"{}",
        lambda document: document.replace(b"192.0.2.1", b"192.0.2.2", 1),
        lambda document: document.replace(b"2026-11-21", b"2026-11-22"),
        lambda document: document.replace(b'"version":1', b'"version":2'),
        lambda document: document.replace(b"configmap-registry", b"something-else"),
        lambda document: document.replace(b'"records":[', b'"records":[5,'),
    ],
)
def test_a_document_that_is_not_as_it_was_written_is_not_used(spoil: Callable[[bytes], bytes]) -> None:
    document = export_registry(make_registry(make_rows(3)), when=WHEN)

    with pytest.raises(UnusableExport):
        parse_export(spoil(document), max_items=100)


@pytest.mark.parametrize(
    "raw",
    [
        b"5",
        b'{"dnsname":"a b","owner":"","target":"","type":"A"}',
        b'{"dnsname":"odd.example.org","owner":7,"target":"","type":"A"}',
        b'{"dnsname":"odd.example.org","owner":"blue-cluster","target":"","type":"A","labels":{"a":","}}',
        make_rows(1)[0].raw,
    ],
)
def test_a_document_made_by_hand_is_believed_no_more_than_a_map(raw: bytes) -> None:
    forged = msgspec.structs.replace(make_rows(1)[0], raw=raw)
    rows = [*make_rows(1), msgspec.structs.replace(forged, key=OTHER)]
    document = export_registry(make_registry(rows), when=WHEN)

    with pytest.raises(UnusableExport, match="export"):
        parse_export(document, max_items=10)


def test_more_rows_than_allowed_are_refused() -> None:
    document = export_registry(make_registry(make_rows(4)), when=WHEN)

    with pytest.raises(UnusableExport, match="more than 3"):
        parse_export(document, max_items=3)


def test_an_owner_no_map_can_be_named_after_is_refused() -> None:
    with pytest.raises(RegistryError, match="Blue"):
        parse_export(export_registry(make_registry([], owner="Blue"), when=WHEN), max_items=3)


@settings(deadline=None, max_examples=examples(200))
@given(document=st.binary() | st.text().map(str.encode))
def test_no_hostile_document_is_an_export(document: bytes) -> None:
    with pytest.raises(UnusableExport):
        parse_export(document, max_items=10)
