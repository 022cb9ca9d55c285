"""A page costs the same number of statements however many rows there are."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from registry_app.admin.filtered_list import CappedPaginator
from registry_app.models import RecordSet
from tests.factories import make_administrator, make_owner, make_record_set
from tests.registry_app.admin.world import (
    NOUNS,
    address,
    make_fresh_provider,
    make_one_of_each,
    read_text,
    sign_in,
)

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db]


def _count_statements(client: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        response = client.get(url)
    assert response.status_code == 200
    return len(captured)


def test_a_list_of_thirty_costs_what_a_list_of_three_costs() -> None:
    root = make_administrator()
    client = sign_in(root)
    addresses = {noun: address(f"{noun}_changelist") for noun in NOUNS}
    for number in range(3):
        make_one_of_each(number, root)
    few = {noun: _count_statements(client, url) for noun, url in addresses.items()}
    for number in range(3, 30):
        make_one_of_each(number, root)

    many = {noun: _count_statements(client, url) for noun, url in addresses.items()}

    assert many == few
    assert {noun: count for noun, count in many.items() if count > 16} == {}


def test_the_dashboard_costs_the_same_with_many_rows() -> None:
    root = make_administrator()
    client = sign_in(root)
    make_one_of_each(0, root)
    few = _count_statements(client, reverse("admin:index"))
    for number in range(1, 20):
        make_one_of_each(number, root)

    many = _count_statements(client, reverse("admin:index"))

    assert many == few


def test_no_list_loads_a_secret() -> None:
    root = make_administrator()
    make_one_of_each(1, root)
    client = sign_in(root)

    with CaptureQueriesContext(connection) as captured:
        for noun in NOUNS:
            client.get(address(f"{noun}_changelist"))
        client.get(reverse("admin:index"))

    # Comparing a secret with the empty text is how its being set is known; selecting it would decrypt it.
    selected = [query["sql"].partition(" FROM ")[0] for query in captured.captured_queries]
    columns = [part for sql in selected for part in sql.split(", ")]
    names = (
        "secret",
        "client_key",
        "encryption_key",
        "token",
        "secret_access_key",
        "session_token",
        "secret_hash",
        "password_hash",
    )
    assert not [column for column in columns if column.endswith(tuple(f'."{name}"' for name in names))]


def test_a_page_of_a_hundred_rows_is_small() -> None:
    provider, owner = make_fresh_provider(), make_owner("blue-cluster")
    for number in range(100):
        make_record_set(provider, f"www-{number:04}.team-blue.example.org", owner=owner)

    response = sign_in(make_administrator()).get(address("recordset_changelist"))

    assert read_text(response).count('<bdi class="dn-name">') == 100
    assert len(response.content) < 120_000


class _ShortPaginator(CappedPaginator):
    most_counted = 5


def test_the_count_under_a_list_stops_at_its_limit() -> None:
    provider = make_fresh_provider()
    for number in range(8):
        make_record_set(provider, f"www-{number}.example.org")

    with CaptureQueriesContext(connection) as captured:
        paginator = _ShortPaginator(RecordSet.objects.order_by("name", "id"), 2)
        counted = (paginator.count, paginator.num_pages, paginator.has_more)

    assert counted == (5, 3, True)
    assert len(captured) == 1
    assert "LIMIT 6" in captured.captured_queries[0]["sql"]
