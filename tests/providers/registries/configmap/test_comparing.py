"""A registry beside its provider: what differs, in words, and never more than can be shown."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.configmap.resync import (
    MAX_DIFFERENCES,
    Comparison,
    Difference,
    DifferenceKind,
    compare_with_provider,
)
from providers.registries.configmap.rows import Row, build_row
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.poison import MAX_SAFE_TEXT_LENGTH
from tests.providers.registries.configmap.values import BLUE, ROWS, make_registry
from tests.reference_server import make_record

WWW = make_record("www.example.org")


def test_rows_that_say_what_the_provider_shows_differ_in_nothing() -> None:
    rows = [
        build_row(WWW, BLUE, {}),
        build_row(make_record("v6.example.org", "AAAA", ["2001:DB8::1"]), "", {}),
    ]
    shown = [make_record("v6.example.org", "AAAA", ["2001:db8:0::1"]), make_record("WWW.example.org.")]

    assert compare_with_provider(make_registry(rows), shown, {}) == Comparison()


def test_each_difference_says_both_sides_in_words() -> None:
    gone, moved = make_record("gone.example.org"), make_record("moved.example.org", "A", ["192.0.2.5"])
    free = make_record("free.example.org", "CNAME", ["lb.example.net"])
    doubtful = msgspec.structs.replace(
        build_row(make_record("odd.example.org"), "", {}), problem="It is odd."
    )
    rows = [build_row(gone, BLUE, {}), build_row(make_record("moved.example.org"), "", {}), doubtful]

    comparison = compare_with_provider(make_registry(rows), [moved, free], {})

    assert comparison.differences == (
        Difference(
            DifferenceKind.ROW_WITHOUT_RECORD,
            EndpointKey("gone.example.org", "A", ""),
            f"192.0.2.1, owned by {BLUE}",
            "no record set",
        ),
        Difference(
            DifferenceKind.OTHER_TARGETS,
            EndpointKey("moved.example.org", "A", ""),
            "192.0.2.1, unmanaged",
            "192.0.2.5",
        ),
        Difference(
            DifferenceKind.UNBELIEVABLE_ROW,
            EndpointKey("odd.example.org", "A", ""),
            "It is odd.",
            "no record set",
        ),
        Difference(
            DifferenceKind.RECORD_WITHOUT_ROW,
            EndpointKey("free.example.org", "CNAME", ""),
            "no row",
            "lb.example.net",
        ),
    )


def test_what_is_beyond_the_limit_is_counted() -> None:
    shown = [make_record(f"n{number}.example.org") for number in range(MAX_DIFFERENCES + 20)]

    comparison = compare_with_provider(make_registry([]), shown, {})

    assert (len(comparison.differences), comparison.further) == (MAX_DIFFERENCES, 20)


def test_words_stay_short_and_printable() -> None:
    targets = [f"192.0.2.{number}" for number in range(1, 40)]
    rows = [build_row(make_record("www.example.org", "A", targets), "x\u202e", {})]

    (difference,) = compare_with_provider(make_registry(rows), [], {}).differences

    assert difference.in_registry == ", ".join(targets)[:MAX_SAFE_TEXT_LENGTH] + ", owned by x\\u202e"


@settings(deadline=None)
@given(rows=st.lists(ROWS, max_size=10, unique_by=lambda row: row.key), kept=st.integers(0, 10))
def test_any_registry_differs_from_a_provider_in_just_what_was_taken_away(rows: list[Row], kept: int) -> None:
    shown = [Endpoint(row.key.name, row.targets, row.key.record_type, row.key.set_identifier) for row in rows]

    fewer_rows = compare_with_provider(make_registry(rows[:kept]), shown, {})
    fewer_records = compare_with_provider(make_registry(rows), shown[:kept], {})

    assert {each.key for each in fewer_rows.differences} == {row.key for row in rows[kept:]}
    assert {each.key for each in fewer_records.differences} == {row.key for row in rows[kept:]}
