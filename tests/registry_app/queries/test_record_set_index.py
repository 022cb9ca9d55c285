"""Several filters of record sets together: the same rows, by the index that has the fewest of them."""

from itertools import combinations
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from registry_app.models import Owner, Provider, RecordSet
from registry_app.queries.record_set import RecordSetFilter, filter_record_sets
from registry_app.queries.record_set_index import choose_index
from tests.factories import make_administrator, make_owner, make_provider, make_record_set
from tests.registry_app.admin.world import address, sign_in
from tests.registry_app.api.client import items, make_client

pytestmark = pytest.mark.django_db


@pytest.fixture
def zones() -> tuple[Provider, Owner]:
    """Of ten record sets: nine at blue-zone, eight of blue-cluster, one MX, two in conflict."""
    provider, other = make_provider(), make_provider("green-zone")
    owner = make_owner()
    for number in range(8):
        make_record_set(provider if number else other, f"app-{number}.example.org", owner=owner)
    make_record_set(provider, "www.example.org", state="conflict")
    make_record_set(provider, "example.org", record_type="MX", state="conflict")
    return provider, owner


def test_any_two_filters_find_what_they_found_without_a_choice(zones: tuple[Provider, Owner]) -> None:
    provider, owner = zones
    filters: dict[str, Any] = {
        "provider": provider,
        "owner": owner,
        "types": ("MX", "A"),
        "states": ("conflict",),
        "name_suffix": "example.org",
        "is_missing": False,
    }
    for names in (*combinations(filters, 2), *combinations(filters, 3), tuple(filters)):
        rows = filter_record_sets(RecordSet.objects.all(), RecordSetFilter(**{n: filters[n] for n in names}))

        assert set(choose_index(rows)) == set(rows), names


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL chooses by itself")
def test_the_column_with_the_fewest_is_looked_up(zones: tuple[Provider, Owner]) -> None:
    provider, owner = zones
    expected = {
        RecordSetFilter(provider=provider, types=("MX",)): "record_set_by_type",
        RecordSetFilter(provider=provider, types=("NAPTR",)): "record_set_by_type",
        RecordSetFilter(provider=provider, states=("conflict",)): "record_set_not_owned",
        RecordSetFilter(states=("conflict",)): "record_set_not_owned",
        RecordSetFilter(owner=owner, types=("MX",)): "record_set_by_type",
        RecordSetFilter(
            owner=owner, provider=Provider.objects.get(name="green-zone")
        ): "registry_app_recordset_1",
        RecordSetFilter(owner=owner, provider=provider): "record_set_by_owner",
    }
    for wanted, index in expected.items():
        rows = choose_index(filter_record_sets(RecordSet.objects.all(), wanted)).order_by("name", "id")

        assert f"{index} (" in rows[:100].explain(), wanted


def test_pages_and_the_api_find_the_same_by_names(zones: tuple[Provider, Owner]) -> None:
    root = make_administrator()
    page: Client = sign_in(root)

    shown = page.get(address("recordset_changelist") + "?provider_name=blue-zone&type=MX").content.decode()
    listed = items(make_client(root), "/record-sets/?provider=blue-zone&type=MX&state=conflict")

    assert [row["name"] for row in listed] == ["example.org"]
    assert shown.count('class="dn-name"') == 1
