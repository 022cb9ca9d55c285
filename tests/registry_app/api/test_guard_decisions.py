"""What the guard decided and sent, by program; held deletes are released and kept."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from registry_app.models import AuditEntry, GuardCount, GuardEndpoint, HeldDelete
from tests.factories import (
    make_administrator,
    make_guard_decision,
    make_guard_endpoint,
    make_guard_step,
    make_held_delete,
    make_instance,
    make_owner,
    make_provider,
    make_user,
)
from tests.registry_app.api.client import API, items, make_client, read

pytestmark = pytest.mark.django_db

_HELD = f"{API}/held-deletes/"


@pytest.fixture
def client() -> APIClient:
    return make_client(make_administrator())


@pytest.fixture
def blue() -> GuardEndpoint:
    return make_guard_endpoint(slug="blue")


@pytest.fixture
def green() -> GuardEndpoint:
    provider = make_provider("green-zone", url="http://127.0.0.1:8")
    return make_guard_endpoint(make_instance(make_owner("green-cluster")), provider, slug="green")


def _names(client: APIClient, address: str) -> list[str]:
    return [row["name"] for row in items(client, address)]


def _statuses() -> dict[str, str]:
    return dict(HeldDelete.objects.order_by("name").values_list("name", "status"))


def test_a_guard_endpoint_has_its_rules_and_what_came_of_them(client: APIClient, blue: GuardEndpoint) -> None:
    GuardCount.objects.create(guard_endpoint=blue, outcome="refused", rule="not_owner", count=7)
    make_held_delete(blue)
    make_held_delete(blue, "api.example.org", status="kept")
    address = f"{API}/guard-endpoints/{blue.pk}/"
    rules: dict[str, Any] = {
        "refuses_batch": True,
        "shared_names": ["Shared.Example.org."],
        "delete_percent": 10,
        "most_deletes": 20,
        "window_seconds": 600,
    }

    before = read(client.get(address))
    changed = client.patch(address, rules, headers={"If-Match": "*"})

    assert (before["refuses_batch"], before["shared_names"], before["delete_percent"]) == (False, [], 30)
    assert (before["most_deletes"], before["window_seconds"]) == (500, 3600)
    assert before["first_changes_at"] is None
    assert before["counts"] == [{"outcome": "refused", "rule": "not_owner", "count": 7}]
    assert before["held_deletes"] == 1
    assert changed.status_code == 200, changed.content
    shown = read(changed)
    assert {name: shown[name] for name in rules} == {**rules, "shared_names": ["shared.example.org"]}


def test_a_provider_has_the_properties_that_instances_may_set(client: APIClient) -> None:
    provider = make_provider()
    address = f"{API}/providers/{provider.pk}/"

    changed = client.patch(
        address, {"allowed_properties": ["alias", "alias", "webhook/x"]}, headers={"If-Match": "*"}
    )
    refused = [
        client.patch(address, {"allowed_properties": value}, headers={"If-Match": "*"})
        for value in ("alias", [""], ["x" * 256], {"alias": "true"})
    ]

    assert read(changed)["allowed_properties"] == ["alias", "webhook/x"]
    assert [answer.status_code for answer in refused] == [422] * 4


def test_decisions_are_listed_newest_first_and_filtered(
    client: APIClient, blue: GuardEndpoint, green: GuardEndpoint
) -> None:
    make_guard_decision(blue, "www.example.org", count=3)
    make_guard_decision(blue, "notexample.org", outcome="would_refuse", rule="shadows")
    make_guard_decision(green, "api.example.org", outcome="held", rule="delete_all")

    first = items(client, "/guard-decisions/")[-1]

    assert _names(client, "/guard-decisions/") == ["api.example.org", "notexample.org", "www.example.org"]
    assert {name: first[name] for name in ("owner", "outcome", "rule", "asked", "reason", "count")} == {
        "owner": "blue-cluster",
        "outcome": "refused",
        "rule": "not_owner",
        "asked": "delete A",
        "reason": "It is owned by green-cluster.",
        "count": 3,
    }
    for query, count in (
        ("guard_endpoint=blue", 2),
        (f"guard_endpoint={green.pk}", 1),
        ("owner=green-cluster", 1),
        ("provider=green-zone", 1),
        ("outcome=would_refuse", 1),
        ("rule=delete_all", 1),
        ("name=WWW.Example.org.", 1),
        ("name_suffix=example.org", 2),
        ("name_suffix=example.org&guard_endpoint=blue", 1),
    ):
        assert len(items(client, f"/guard-decisions/?{query}")) == count, query
    assert client.get(f"{API}/guard-decisions/?rule=none").status_code == 400
    assert client.post(f"{API}/guard-decisions/", {}).status_code == 405
    assert read(client.get(f"{API}/guard-decisions/{first['id']}/"))["name"] == "www.example.org"


def test_change_sets_are_listed_and_one_shows_each_record_set(
    client: APIClient, blue: GuardEndpoint, green: GuardEndpoint
) -> None:
    make_guard_step(blue, "www.example.org", change_set='{"create": []}', answer="204")
    make_guard_step(green, "a.example.org", "b.example.org", status="incomplete")

    listed = items(client, "/guard-change-sets/")
    one = read(client.get(f"{API}/guard-change-sets/{listed[1]['id']}/"))

    assert [(row["slug"], row["status"], row["deletes"]) for row in listed] == [
        ("green", "incomplete", 2),
        ("blue", "verified", 1),
    ]
    assert "items" not in listed[0]
    assert (one["change_set"], one["answer"]) == ('{"create": []}', "204")
    assert one["items"] == [
        {
            "name": "www.example.org",
            "record_type": "A",
            "set_identifier": "",
            "action": "delete",
            "is_claim": False,
            "outcome": "verified",
        }
    ]
    for query, count in (("guard_endpoint=blue", 1), ("provider=green-zone", 1), ("status=verified", 1)):
        assert len(items(client, f"/guard-change-sets/?{query}")) == count, query


def test_a_change_set_stays_when_its_guard_endpoint_is_deleted(
    client: APIClient, blue: GuardEndpoint
) -> None:
    make_guard_step(blue, "www.example.org")
    make_held_delete(blue)
    client.delete(f"{API}/guard-endpoints/{blue.pk}/", headers={"If-Match": "*"})

    (row,) = items(client, "/guard-change-sets/")

    assert (row["guard_endpoint"], row["slug"]) == (None, "blue")
    assert items(client, "/held-deletes/") == []


def test_held_deletes_are_listed_by_name_and_filtered(
    client: APIClient, blue: GuardEndpoint, green: GuardEndpoint
) -> None:
    for name in ("www.example.org", "api.example.org", "notexample.org"):
        make_held_delete(blue, name)
    make_held_delete(green, "www.example.org", status="kept", rule="first_contact")

    first = read(client.get(f"{_HELD}?limit=3"))
    rest = read(client.get(first["next"]))

    shown = [(row["name"], row["guard_endpoint"]["slug"]) for row in first["items"] + rest["items"]]
    assert shown == [
        ("api.example.org", "blue"),
        ("notexample.org", "blue"),
        ("www.example.org", "blue"),
        ("www.example.org", "green"),
    ]
    for query, count in (
        ("guard_endpoint=blue", 3),
        ("owner=green-cluster", 1),
        ("provider=green-zone", 1),
        ("status=held", 3),
        ("rule=first_contact", 1),
        ("name=www.example.org", 2),
        ("name_suffix=example.org&guard_endpoint=blue", 2),
    ):
        assert len(items(client, f"/held-deletes/?{query}")) == count, query


def test_held_deletes_are_released_and_kept(client: APIClient, blue: GuardEndpoint) -> None:
    rows = [make_held_delete(blue, f"{letter}.example.org") for letter in "abcd"]

    kept = client.post(f"{_HELD}keep/", {"ids": [rows[0].pk, rows[1].pk], "reason": "Still used."})
    below = client.post(f"{_HELD}release/", {"guard_endpoint": blue.pk, "name_suffix": "B.example.org"})
    rest = client.post(f"{_HELD}release/", {"guard_endpoint": "blue", "expected_count": 3})

    assert read(kept) == {"status": "kept", "count": 2, "names": ["a.example.org", "b.example.org"]}
    assert read(below) == {"status": "released", "count": 1, "names": ["b.example.org"]}
    assert (rest.status_code, read(rest)["count"]) == (200, 3)
    assert set(_statuses().values()) == {"released"}
    shown = read(client.get(f"{_HELD}{rows[0].pk}/"))
    assert shown["decided_by"].startswith("root")
    assert AuditEntry.objects.filter(action="guard_endpoint.deletes_kept", reason="Still used.").exists()


def test_a_release_is_tried_and_repeated_safely(client: APIClient, blue: GuardEndpoint) -> None:
    make_held_delete(blue)
    body = {"guard_endpoint": "blue"}

    tried = client.post(f"{_HELD}release/?dry_run=true", body)
    waiting = _statuses()
    done = client.post(f"{_HELD}release/", body, headers={"Idempotency-Key": "k1"})
    again = client.post(f"{_HELD}release/", body, headers={"Idempotency-Key": "k1"})
    late = client.post(f"{_HELD}release/", body)

    assert (tried["X-Dry-Run"], waiting) == ("true", {"www.example.org": "held"})
    assert read(tried) == read(done) == read(again)
    assert again["Idempotency-Replayed"] == "true"
    assert (late.status_code, read(late)["code"]) == (409, "state_moved")
    assert AuditEntry.objects.filter(action="guard_endpoint.deletes_released").count() == 1


def test_what_cannot_be_released_is_refused(client: APIClient, blue: GuardEndpoint) -> None:
    held = make_held_delete(blue)
    for body, status, field in (
        ({}, 422, "ids"),
        ({"ids": [held.pk], "guard_endpoint": "blue"}, 422, "ids"),
        ({"ids": [held.pk], "name_suffix": "example.org"}, 422, "name_suffix"),
        ({"ids": ["first"]}, 422, "ids.0"),
        ({"ids": [0]}, 422, "ids.0"),
        ({"guard_endpoint": "nobody"}, 422, "guard_endpoint"),
        ({"guard_endpoint": True}, 422, "guard_endpoint"),
        ({"guard_endpoint": "blue", "expected_count": 0}, 422, "expected_count"),
        ({"guard_endpoint": "blue", "expected_count": 2}, 409, None),
        ({"ids": [4711]}, 404, None),
        ({"guard_endpoint": "blue", "force": True}, 422, "force"),
    ):
        refused = client.post(f"{_HELD}release/", body)
        assert refused.status_code == status, (body, refused.content)
        assert list(read(refused).get("fields", {})) == ([field] if field else []), body
    assert _statuses() == {"www.example.org": "held"}


def test_who_may_not_operate_reads_and_decides_nothing(blue: GuardEndpoint) -> None:
    held = make_held_delete(blue)
    make_guard_decision(blue)
    make_guard_step(blue)
    narrow, nobody = make_client(make_administrator(), "read", "plan"), make_client(make_user("alice"))

    for client in (narrow, nobody):
        for noun in ("held-deletes", "guard-decisions", "guard-change-sets"):
            assert len(items(client, f"/{noun}/")) == 1
        for act in ("release", "keep"):
            for body in ({"ids": [held.pk]}, {"guard_endpoint": "blue"}):
                assert client.post(f"{_HELD}{act}/", body).status_code == 403
    assert _statuses() == {"www.example.org": "held"}


def test_a_long_list_costs_as_many_statements_as_a_short_one(
    client: APIClient, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(20):
        provider = make_provider(f"zone-{number}", url=f"http://127.0.0.1:{number + 1}")
        row = make_guard_endpoint(make_instance(make_owner(f"owner-{number}")), provider)
        make_held_delete(row)
        make_guard_decision(row)
        make_guard_step(row, "www.example.org")

    for noun in ("held-deletes", "guard-decisions", "guard-change-sets"):
        with django_assert_max_num_queries(8):
            assert len(items(client, f"/{noun}/?limit=1000")) == 20
