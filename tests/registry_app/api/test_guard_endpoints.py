"""Guard endpoints by program: registered, changed under a version, paused; and what instances want."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from registry_app.inventory.guard_endpoint import verify_credential
from registry_app.models import AuditEntry, GuardEndpoint, IdempotencyKey
from tests.factories import (
    make_administrator,
    make_desired_set,
    make_guard_endpoint,
    make_instance,
    make_owner,
    make_provider,
    make_user,
)
from tests.registry_app.api.client import API, items, make_client, read

pytestmark = pytest.mark.django_db

_LIST = f"{API}/guard-endpoints/"


@pytest.fixture
def client() -> APIClient:
    return make_client(make_administrator())


def test_a_guard_endpoint_is_registered_read_changed_and_deleted(client: APIClient) -> None:
    make_provider("blue-zone")
    instance = make_instance(make_owner("blue-cluster"), "east")
    body = {"slug": "blue", "provider": "blue-zone", "instance": instance.pk, "networks": ["192.0.2.0/24"]}

    created = client.post(_LIST, body)
    address = f"{_LIST}{GuardEndpoint.objects.get().pk}/"
    etag = client.get(address)["ETag"]
    changed = client.patch(address, {"deadline_seconds": 30}, headers={"If-Match": etag})
    stale = client.delete(address, headers={"If-Match": etag})
    unsaid = client.delete(address)
    removed = client.delete(address, headers={"If-Match": changed["ETag"]})

    assert created.status_code == 201, created.content
    assert created["Location"].endswith(address)
    shown = read(created)
    assert {name: shown[name] for name in ("slug", "owner", "mode", "username", "desired_set")} == {
        "slug": "blue",
        "owner": "blue-cluster",
        "mode": "observe",
        "username": "",
        "desired_set": None,
    }
    assert (shown["provider"]["name"], shown["instance"]) == (
        "blue-zone",
        {"id": instance.pk, "name": "east"},
    )
    assert (changed.status_code, read(changed)["deadline_seconds"]) == (200, 30)
    assert (stale.status_code, unsaid.status_code, removed.status_code) == (412, 428, 204)
    assert client.get(address).status_code == 404


def test_what_is_refused_names_the_fields_of_the_request(client: APIClient) -> None:
    provider = make_provider()
    make_provider("off", url="http://127.0.0.1:8", is_enabled=False)
    instance = make_instance(make_owner())
    row = make_guard_endpoint(make_instance(make_owner("green-cluster")), provider, slug="taken")
    good = {"slug": "blue", "provider": provider.pk, "instance": instance.pk}
    bad: list[tuple[str, Any]] = [
        ("slug", "taken"),
        ("slug", "records"),
        ("slug", "A"),
        ("provider", "off"),
        ("provider", "nowhere"),
        ("instance", 4711),
        ("instance", "east"),
        ("networks", ["everywhere"]),
        ("mode", "off"),
        ("username", "blue"),
        ("shared_names", ["not a name"]),
        ("delete_percent", 0),
        ("delete_percent", 101),
        ("most_deletes", 0),
        ("window_seconds", 59),
        ("refuses_batch", "perhaps"),
        ("first_changes_at", None),
    ]

    for field, value in bad:
        refused = client.post(_LIST, {**good, field: value})
        assert refused.status_code == 422, (field, value, refused.content)
        assert [name.partition(".")[0] for name in read(refused)["fields"]] == [field], (field, value)
    moved = client.patch(f"{_LIST}{row.pk}/", {"instance": instance.pk}, headers={"If-Match": "*"})
    mode = client.patch(f"{_LIST}{row.pk}/", {"mode": "paused"}, headers={"If-Match": "*"})

    assert (moved.status_code, list(read(moved)["fields"])) == (422, ["instance"])
    assert (mode.status_code, list(read(mode)["fields"])) == (422, ["mode"])
    assert GuardEndpoint.objects.count() == 1


def test_the_mode_is_changed_with_a_reason(client: APIClient) -> None:
    row = make_guard_endpoint()

    paused = client.post(f"{_LIST}{row.pk}/mode/", {"mode": "paused", "reason": "The zone moves."})
    refused = client.post(f"{_LIST}{row.pk}/mode/", {"mode": "off"})
    back = client.post(f"{_LIST}{row.pk}/mode/", {"mode": "enforce"})

    assert (paused.status_code, read(paused)["mode"]) == (200, "paused")
    assert (refused.status_code, list(read(refused)["fields"])) == (422, ["mode"])
    assert read(back)["mode"] == "enforce"
    assert AuditEntry.objects.filter(reason="The zone moves.").exists()


def test_a_password_is_shown_once(client: APIClient) -> None:
    row = make_guard_endpoint(slug="blue")
    address = f"{_LIST}{row.pk}/credential/"
    key = {"Idempotency-Key": "k1"}

    tried = client.post(f"{address}?dry_run=true", {})
    assert GuardEndpoint.objects.get().username == ""
    issued = client.post(address, {}, headers=key)
    replayed = client.post(address, {}, headers=key)
    stored = GuardEndpoint.objects.get()
    removed = client.delete(address)
    again = client.delete(address)

    assert issued.status_code == 200, issued.content
    assert (read(tried)["password"], read(replayed)["password"]) == ("", "")
    assert read(issued)["username"] == "blue"
    assert verify_credential(stored, "blue", read(issued)["password"])
    assert read(issued)["password"] not in str(list(IdempotencyKey.objects.values()))
    assert (removed.status_code, again.status_code) == (204, 409)
    assert GuardEndpoint.objects.get().password_hash == ""


def test_the_list_shows_what_is_known_of_each_desired_set(client: APIClient) -> None:
    owner, provider = make_owner(), make_provider()
    rows = [
        make_guard_endpoint(make_instance(owner, slug), provider, slug=slug) for slug in ("b", "a", "c", "d")
    ]
    make_desired_set(rows[0], "www.example.org", "api.example.org")
    make_desired_set(rows[1], last_seen_at=timezone.now() - timedelta(hours=1))

    first = read(client.get(f"{_LIST}?limit=3"))
    rest = read(client.get(first["next"]))

    shown = {row["slug"]: row["desired_set"] for row in first["items"] + rest["items"]}
    assert list(shown) == ["a", "b", "c", "d"]
    assert (shown["a"]["is_stale"], shown["b"]["is_stale"]) == (True, False)
    assert (shown["b"]["endpoint_count"], shown["b"]["seen_count"]) == (2, 1)
    assert (shown["c"], shown["d"]) == (None, None)


def test_the_list_is_filtered(client: APIClient) -> None:
    make_guard_endpoint(slug="blue")
    green = make_provider("green-zone", url="http://127.0.0.1:8")
    make_guard_endpoint(make_instance(make_owner("green-cluster")), green, slug="green", mode="paused")

    for query in ("owner=green-cluster", "provider=green-zone", "mode=paused", "slug=green"):
        assert [row["slug"] for row in items(client, f"/guard-endpoints/?{query}")] == ["green"], query


def test_what_instances_want_is_listed_by_name_and_filtered(client: APIClient) -> None:
    blue, provider = make_guard_endpoint(slug="blue"), make_provider("green-zone", url="http://127.0.0.1:8")
    green = make_guard_endpoint(make_instance(make_owner("green-cluster")), provider, slug="green")
    make_desired_set(blue, "www.example.org", "api.example.org", "notexample.org")
    make_desired_set(green, "www.example.org", last_seen_at=timezone.now() - timedelta(hours=1))

    first = read(client.get(f"{API}/desired-endpoints/?limit=2"))
    rest = read(client.get(first["next"]))

    shown = [(row["name"], row["guard_endpoint"]["slug"]) for row in first["items"] + rest["items"]]
    assert shown == [
        ("api.example.org", "blue"),
        ("notexample.org", "blue"),
        ("www.example.org", "blue"),
        ("www.example.org", "green"),
    ]
    assert [row["is_stale"] for row in rest["items"]] == [False, True]
    assert {
        key: first["items"][0][key] for key in ("owner", "record_type", "targets", "ttl", "resource")
    } == {
        "owner": "blue-cluster",
        "record_type": "A",
        "targets": ["192.0.2.1"],
        "ttl": 300,
        "resource": "ingress/shop/www",
    }
    for query, count in (
        ("guard_endpoint=green", 1),
        (f"guard_endpoint={blue.pk}", 3),
        ("owner=blue-cluster", 3),
        ("provider=green-zone", 1),
        ("name=WWW.example.org.", 2),
        ("name_suffix=example.org", 3),
        ("type=a,AAAA&name=www.example.org&owner=green-cluster", 1),
        ("type=AAAA", 0),
    ):
        assert len(items(client, f"/desired-endpoints/?{query}")) == count, query


def test_one_desired_endpoint_is_read_and_none_is_written(client: APIClient) -> None:
    row = make_guard_endpoint()
    make_desired_set(row, "www.example.org")
    address = f"{API}/desired-endpoints/{row.desired_endpoints.get().pk}/"

    assert read(client.get(address))["name"] == "www.example.org"
    assert client.post(f"{API}/desired-endpoints/", {}).status_code == 405
    assert client.delete(address).status_code == 405


def test_an_unknown_guard_endpoint_in_a_filter_is_a_typing_error(client: APIClient) -> None:
    for text in ("nobody", "4711", "a%00b"):
        refused = client.get(f"{API}/desired-endpoints/?guard_endpoint={text}")
        assert (refused.status_code, list(read(refused)["fields"])) == (400, ["guard_endpoint"]), text


def test_only_a_token_with_the_scope_admin_writes() -> None:
    row = make_guard_endpoint(username="blue", password_hash="h")
    make_desired_set(row, "www.example.org")
    spare = make_instance(row.instance.owner, "spare")
    narrow = make_client(make_administrator(), "read", "plan")
    nobody = make_client(make_user("alice"))

    for client in (narrow, nobody):
        assert len(items(client, "/guard-endpoints/")) == len(items(client, "/desired-endpoints/")) == 1
        any_version = {"If-Match": "*"}
        body = {"slug": "new", "provider": row.provider.pk, "instance": spare.pk}
        answers = [
            client.post(_LIST, body),
            client.patch(f"{_LIST}{row.pk}/", {"slug": "late"}, headers=any_version),
            client.post(f"{_LIST}{row.pk}/mode/", {"mode": "paused"}),
            client.post(f"{_LIST}{row.pk}/credential/", {}),
            client.delete(f"{_LIST}{row.pk}/credential/"),
            client.delete(f"{_LIST}{row.pk}/", headers=any_version),
        ]
        assert [answer.status_code for answer in answers] == [403] * 6

    kept = GuardEndpoint.objects.get()
    assert (kept.slug, kept.mode, kept.username) == (row.slug, "observe", "blue")


def test_a_long_list_costs_as_many_statements_as_a_short_one(
    client: APIClient, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        provider = make_provider(f"zone-{number}", url=f"http://127.0.0.1:{number + 1}")
        row = make_guard_endpoint(make_instance(make_owner(f"owner-{number}")), provider)
        make_desired_set(row, f"www-{number}.example.org")

    for address in ("/guard-endpoints/", "/desired-endpoints/"):
        with django_assert_max_num_queries(8):
            assert len(items(client, f"{address}?limit=1000")) == 30
