"""A search finds each row that holds the text, literally, and no other, whatever the index knows by then."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from registry_app.models import Owner, RecordSet
from registry_app.queries import search
from registry_app.queries.search import has_index, search_owners, search_record_sets
from registry_app.reconcile.search_index import (
    index_waiting,
    is_behind,
    prepare_search_index,
    rebuild_search_index,
)
from tests.factories import make_owner, make_provider, make_record_set

pytestmark = pytest.mark.django_db


def _found(text: str) -> list[str]:
    return [row.name for row in search_record_sets(RecordSet.objects.order_by("name"), text)]


def _nothing() -> None:
    """The index is as it is."""


@pytest.mark.parametrize("then", [_nothing, index_waiting, rebuild_search_index])
def test_a_text_is_found_literally_in_name_targets_resource_and_owner(then: Callable[[], Any]) -> None:
    zone, owner = make_provider(), make_owner('the "blue" 100%')
    make_record_set(zone, "a-shop.example.org", owner=owner, resource="ingress/Shop/web_1")
    make_record_set(zone, "b.example.org", targets=['v="spf1" \\n -all', "Bücher-NEAR(x)"], record_type="TXT")
    make_record_set(zone, "xn--bcher-kva.example.net", targets=["10.0.0.1", "zebra"])
    connection.check_constraints()  # PostgreSQL makes no index while one waits to be checked
    then()
    a, b, c = "a-shop.example.org", "b.example.org", "xn--bcher-kva.example.net"
    for text, names in (
        ("shop.ex", [a]),
        ("SHOP.EX", [a]),
        ("example", [a, b, c]),
        ("shop/WEB", [a]),
        ("web_1", [a]),
        ("w_b", []),
        ("s%p", []),
        ("100%", [a]),
        ('"blue"', [a]),
        ('v="spf1', [b]),
        ("\\n -", [b]),
        ("\n -all", []),
        ('", "', []),
        ("spf OR shop", []),
        ("NEAR(", [b]),
        ("shop*", []),
        ("^a-s", []),
        ("bücher", [b, c]),
        ("bücher.example.net", [c]),
        ("0.0.1", [c]),
        ("1zebra", []),
        ("'; --", []),
        ("---", []),
        ("\N{REPLACEMENT CHARACTER}" * 3, []),
    ):
        assert _found(text) == names, text


def test_what_changes_is_found_as_it_is_now_before_and_after_it_is_indexed() -> None:
    zone = make_provider()
    row = make_record_set(zone, targets=["old-target.example.net"])
    gone = make_record_set(zone, "gone.example.org")
    index_waiting()
    RecordSet.objects.filter(pk=row.pk).update(targets=["new-target.example.net"], resource="service/a/b")
    RecordSet.objects.filter(pk=row.pk).update(targets=["third-target.example.net"])
    gone.delete()
    for is_indexed in (False, True):
        if is_indexed:
            index_waiting()

        assert not (is_indexed and is_behind())
        for text in ("third-target", "service/a", "www.example"):
            assert _found(text) == ["www.example.org"], text
        assert not _found("old-target") + _found("new-target") + _found("gone.ex")


def test_a_search_with_more_than_it_gathers_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    zone, owner = make_provider(), make_owner("shared")
    for number in range(9):
        make_record_set(zone, f"www-{number}.example.org", owner=owner)
    make_record_set(zone, "other.example.org")
    expected = [f"www-{number}.example.org" for number in range(9)]
    for most in (3, 100):
        monkeypatch.setattr(search, "_MOST_CANDIDATES", most)

        assert _found("share") == _found("www-") == expected


def test_a_table_made_anew_by_a_migration_is_searched_as_before() -> None:
    if connection.vendor != "sqlite":
        return
    zone = make_provider()
    make_record_set(zone)
    index_waiting()
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TRIGGER {name}")

    prepare_search_index()
    make_record_set(zone, "later.example.org")

    assert is_behind()
    assert _found("later.ex") == ["later.example.org"]


def test_without_an_index_a_search_reads_every_row() -> None:
    make_record_set(make_provider())
    with transaction.atomic():
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                for name in ("insert", "update", "delete"):
                    cursor.execute(f"DROP TRIGGER {search.WAITING}_{name}")
                cursor.execute(f"DROP TABLE {search.TRIGRAMS}")
            else:
                cursor.execute(f"DROP INDEX {search.INDEX}")
        assert not has_index()

        assert _found("ww.ex") == ["www.example.org"]

        transaction.set_rollback(True)
    assert has_index()


def test_owners_are_found_by_id_and_description() -> None:
    make_owner("blue-cluster", description="Shop 100% in Ulm")
    make_owner("green-cluster")

    found = [
        [row.owner_id for row in search_owners(Owner.objects.all(), text)] for text in ("LUE", "0% in", "___")
    ]

    assert found == [["blue-cluster"], ["blue-cluster"], []]


@given(
    held=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    start=st.integers(0, 9),
    other=st.text(st.sampled_from('ab"\\%_*^()-. \nOR'), min_size=3, max_size=4),
)
def test_any_part_of_any_target_is_found(held: str, start: int, other: str) -> None:
    with transaction.atomic():
        make_record_set(make_provider(), targets=[held, "tail"], record_type="TXT")
        index_waiting()
        for text in (held[start : start + 4], other):
            if len(text) >= 3:
                plain = [each.translate(_LOWER) for each in (held, "tail", "www.example.org")]
                is_there = any(text.translate(_LOWER) in each for each in plain)
                assert bool(_found(text)) == is_there, json.dumps([held, text])
        transaction.set_rollback(True)


_LOWER = {ord(each): each.lower() for each in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
