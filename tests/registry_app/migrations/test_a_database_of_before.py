"""A database of every state that landed can be migrated, down and up again, and no data are lost."""

import pytest

from tests.registry_app.migrations.landed import read_states
from tests.registry_app.migrations.way import Way, walk

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def way(transactional_db: None) -> Way:
    return walk()


def test_rows_of_every_state_that_landed_survive_the_way_to_the_newest(way: Way) -> None:
    assert list(way.rows) == read_states()
    for name, rows in way.rows.items():
        assert way.rows_left[name] == rows, name
        assert way.secrets[name] == "correct-horse"


def test_the_query_of_a_url_moves_to_where_secrets_are_kept_and_back(way: Way) -> None:
    assert way.urls_before_queries == [
        ("plain", "http://192.0.2.1:8888/base"),
        ("told", "http://192.0.2.2:8888/base?token=correct-horse"),
    ]
    assert way.urls["told"] == ("http://192.0.2.2:8888/base", "token=correct-horse")
    assert way.urls["plain"] == ("http://192.0.2.1:8888/base", "")
    assert "correct-horse" not in way.stored_query


def test_a_database_whose_first_migration_made_the_column_already_can_be_migrated(way: Way) -> None:
    assert way.urls["early"] == ("http://192.0.2.3", "token=correct-horse")


def test_each_owner_of_which_anything_is_known_gets_one_instance_and_goes_back(way: Way) -> None:
    assert [(*row[:2], bool(row[2]), bool(row[3])) for row in way.owners_before_instances] == [
        ("in-a-cluster", "unknown", False, True),
        ("nothing-known", "unknown", True, True),
        ("several", "upsert-only", False, True),
        ("with-a-policy", "sync", True, True),
        ("with-a-profile", "unknown", True, False),
    ]
    assert way.instances == [
        ("in-a-cluster", "blue", "unknown", "blue", None),
        ("several", "blue", "upsert-only", "blue", None),
        ("with-a-policy", "external-dns", "sync", None, None),
        ("with-a-profile", "external-dns", "unknown", None, "edge"),
    ]
    assert way.owner_count == 5
