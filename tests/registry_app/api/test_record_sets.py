"""Record sets over the API: filters in any spelling, and pages that do not shift."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from registry_app.models import Owner, Provider, RecordSet
from tests.factories import make_owner, make_provider, make_record_set, make_user
from tests.registry_app.api.client import API, items, make_client, read

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    return make_client(make_user("alice"), "read")


@pytest.fixture
def blue_zone() -> Provider:
    return make_provider("blue-zone")


@pytest.fixture
def blue() -> Owner:
    return make_owner("blue-cluster")


def _names(client: APIClient, query: str) -> list[str]:
    return [item["name"] for item in items(client, f"/record-sets/?{query}")]


@pytest.mark.parametrize(
    "spelling", ["www.example.org", "WWW.Example.ORG.", "www.example.org.", "www%EF%BC%8Eexample.org"]
)
def test_a_name_is_found_in_any_spelling(client: APIClient, blue_zone: Provider, spelling: str) -> None:
    make_record_set(blue_zone, "www.example.org")
    make_record_set(blue_zone, "www2.example.org")

    assert _names(client, f"name={spelling}") == ["www.example.org"]


def test_a_wildcard_is_found_as_providers_escape_it(client: APIClient, blue_zone: Provider) -> None:
    make_record_set(blue_zone, "*.example.org")

    assert _names(client, "name=%5C052.example.org") == ["*.example.org"]


def test_a_suffix_is_the_name_and_what_lies_below_it(client: APIClient, blue_zone: Provider) -> None:
    for name in ("example.org", "a.example.org", "b.a.example.org", "notexample.org", "example.org.test"):
        make_record_set(blue_zone, name)
    make_record_set(blue_zone, "example-x.org")

    found = _names(client, "name_suffix=EXAMPLE.org.")

    assert found == ["example.org", "a.example.org", "b.a.example.org"]


def test_filters_narrow_each_other(client: APIClient, blue_zone: Provider, blue: Owner) -> None:
    green_zone = make_provider("green-zone")
    make_record_set(blue_zone, "a.example.org", owner=blue)
    make_record_set(blue_zone, "b.example.org", owner=blue, record_type="AAAA")
    make_record_set(blue_zone, "c.example.org")
    make_record_set(green_zone, "d.example.org", owner=blue)

    assert _names(client, "owner=blue-cluster") == ["a.example.org", "b.example.org", "d.example.org"]
    assert _names(client, "owner=blue-cluster&provider=blue-zone&type=a") == ["a.example.org"]
    assert _names(client, f"provider={green_zone.pk}") == ["d.example.org"]
    assert _names(client, "state=unmanaged,conflict") == ["c.example.org"]
    assert _names(client, "type=aaaa,txt") == ["b.example.org"]


def test_it_shows_what_changed_since_a_time(client: APIClient, blue_zone: Provider) -> None:
    long_ago = timezone.now() - timedelta(days=2)
    make_record_set(blue_zone, "old.example.org", changed_at=long_ago)
    make_record_set(blue_zone, "new.example.org")
    since = (timezone.now() - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")

    assert _names(client, f"updated_since={since}") == ["new.example.org"]


def test_it_tells_missing_record_sets_from_present_ones(client: APIClient, blue_zone: Provider) -> None:
    make_record_set(blue_zone, "gone.example.org", missing_since=timezone.now())
    make_record_set(blue_zone, "here.example.org")

    assert _names(client, "missing=true") == ["gone.example.org"]
    assert _names(client, "missing=false") == ["here.example.org"]
    assert len(_names(client, "")) == 2


def test_a_parameter_it_cannot_use_is_refused_by_name(client: APIClient) -> None:
    rows = [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=-1", "limit"),
        ("limit=%D9%A3", "limit"),
        ("cursor=abc", "cursor"),
        ("cursor=W10", "cursor"),
        ("name=a..b", "name"),
        ("name=%00", "name"),
        ("owner=nobody", "owner"),
        ("provider=99", "provider"),
        ("provider=99999999999999999999999", "provider"),
        ("state=mine", "state"),
        ("updated_since=yesterday", "updated_since"),
        ("colour=blue", "colour"),
        ("type=A&type=AAAA", "type"),
    ]
    for query, field in rows:
        response = client.get(f"{API}/record-sets/?{query}")

        assert response.status_code == 400, query
        assert read(response)["code"] == "invalid_parameter", query
        assert field in read(response)["fields"], query


def test_pages_show_every_row_once_while_rows_come_and_go(client: APIClient, blue_zone: Provider) -> None:
    for number in range(20):
        make_record_set(blue_zone, f"n{number:02}.example.org")
    for record_type in ("AAAA", "TXT", "MX"):
        make_record_set(blue_zone, "n05.example.org", record_type=record_type)
    seen: list[tuple[str, str]] = []
    address = f"{API}/record-sets/?limit=4&provider=blue-zone"

    while address:
        page = read(client.get(address))
        seen += [(item["name"], item["record_type"]) for item in page["items"]]
        make_record_set(blue_zone, f"a{len(seen):03}.example.org")
        RecordSet.objects.filter(pk=page["items"][-1]["id"]).delete()
        address = page["next"]

    assert len(seen) == 23
    assert len(set(seen)) == 23


def test_pages_under_a_suffix_show_every_row_once(client: APIClient, blue_zone: Provider) -> None:
    for number in range(11):
        make_record_set(blue_zone, f"n{number:02}.a.example.org")
        make_record_set(blue_zone, f"n{number:02}.b.example.org")
    seen: list[str] = []
    address = f"{API}/record-sets/?limit=5&name_suffix=a.example.org"

    while address:
        page = read(client.get(address))
        seen += [item["name"] for item in page["items"]]
        address = page["next"]

    assert seen == [f"n{number:02}.a.example.org" for number in range(11)]


def test_a_cursor_of_another_order_is_refused(client: APIClient, blue_zone: Provider) -> None:
    for number in range(3):
        make_record_set(blue_zone, f"n{number}.example.org")
    cursor = read(client.get(f"{API}/record-sets/?limit=1"))["next_cursor"]

    response = client.get(f"{API}/record-sets/?name_suffix=example.org&cursor={cursor}")

    assert response.status_code == 400


@pytest.mark.parametrize("count", [3, 40])
def test_a_page_costs_the_same_however_many_rows_it_has(
    client: APIClient,
    blue_zone: Provider,
    blue: Owner,
    count: int,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(count):
        make_record_set(blue_zone, f"n{number}.example.org", owner=blue)
    client.get(f"{API}/record-sets/")

    with django_assert_max_num_queries(4):
        response = client.get(f"{API}/record-sets/")

    assert len(read(response)["items"]) == count


def test_one_record_set_shows_why_it_is_whose_it_is(client: APIClient, blue_zone: Provider) -> None:
    row = make_record_set(blue_zone, "www.example.org")

    answer = read(client.get(f"{API}/record-sets/{row.pk}/"))

    assert answer["provider"] == {"id": blue_zone.pk, "name": "blue-zone"}
    assert answer["claims"] == []
    assert answer["why"] == "www.example.org A is unmanaged, because it has no claim."
    assert client.get(answer["events"]).status_code == 200


@pytest.mark.parametrize("pk", ["0", "999", "9223372036854775807", "9" * 40])
def test_what_is_not_there_is_not_found(client: APIClient, pk: str) -> None:
    response = client.get(f"{API}/record-sets/{pk}/")

    assert response.status_code == 404
    assert read(response)["code"] == "not_found"


def test_nothing_can_be_written(client: APIClient) -> None:
    assert client.post(f"{API}/record-sets/", {}).status_code == 405


def test_the_old_name_of_a_filter_is_taken_and_both_are_refused(
    client: APIClient, blue_zone: Provider
) -> None:
    for name in ("example.org", "a.example.org", "notexample.org"):
        make_record_set(blue_zone, name)

    both = client.get(f"{API}/record-sets/?name_suffix=example.org&name__suffix=example.org")

    assert _names(client, "name__suffix=example.org") == ["example.org", "a.example.org"]
    assert both.status_code == 400
    assert read(both)["fields"] == {
        "name__suffix": ["This is the old name of `name_suffix`. Give one of the two."]
    }
