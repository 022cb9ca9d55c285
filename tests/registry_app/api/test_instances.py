"""Instances by program: registered, listed with the loops, changed under a version, removed."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from registry_app.models import Instance, Loop, RegistryProfile
from tests.factories import (
    make_administrator,
    make_cluster,
    make_instance,
    make_owner,
    make_provider,
    make_user,
)
from tests.registry_app.api.client import API, items, make_client, read

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    return make_client(make_administrator())


def test_an_instance_is_registered_read_changed_and_removed(client: APIClient) -> None:
    make_owner("default")
    make_cluster("east")
    make_provider("blue-zone")
    RegistryProfile.objects.create(name="edge", prefix="x-")
    body = {
        "owner": "default",
        "cluster": "east",
        "provider": "blue-zone",
        "policy": "sync",
        "registry_profile": "edge",
        "domain_include": ["Example.org"],
        "managed_types": ["a", "CNAME"],
        "claim_cache_seconds": 300,
    }

    created = client.post(f"{API}/instances/", body)
    address = f"{API}/instances/{Instance.objects.get().pk}/"
    etag = client.get(address)["ETag"]
    changed = client.patch(address, {"policy": "upsert-only"}, headers={"If-Match": etag})
    stale = client.delete(address, headers={"If-Match": etag})
    unsaid = client.delete(address)
    removed = client.delete(address, headers={"If-Match": changed["ETag"]})

    assert created.status_code == 201, created.content
    assert created["Location"].endswith(address)
    shown = read(created)
    assert {name: shown[name] for name in ("id", "kind", "loop", "owner", "name", "cluster")} == {
        "id": int(address.split("/")[-2]),
        "kind": "external-dns",
        "loop": None,
        "owner": "default",
        "name": "east",
        "cluster": "east",
    }
    assert (shown["provider"]["name"], shown["registry_profile"]) == ("blue-zone", "edge")
    assert (shown["domain_include"], shown["managed_types"]) == (["example.org"], ["A", "CNAME"])
    assert (changed.status_code, read(changed)["policy"]) == (200, "upsert-only")
    assert (stale.status_code, unsaid.status_code, removed.status_code) == (412, 428, 204)
    assert client.get(address).status_code == 404


def test_the_list_shows_the_loops_that_run_after_the_instances(client: APIClient) -> None:
    owner, parked, provider = make_owner("default"), make_owner("parked"), make_provider()
    other = make_provider("another")
    for number in range(3):
        make_instance(owner, f"i{number}", cluster=make_cluster(f"c{number}"), provider=provider)
    loop = Loop.objects.create(owner=parked, provider=provider)
    Loop.objects.create(owner=parked, provider=other, is_enabled=False)

    rows: list[Any] = []
    cursor: Any = ""
    while cursor is not None:
        page = read(client.get(f"{API}/instances/?limit=2{cursor and '&cursor=' + cursor}"))
        rows += page["items"]
        cursor = page["next_cursor"]

    assert [row["name"] for row in rows] == ["i0", "i1", "i2", "dnsadmin's loop"]
    assert (rows[-1]["id"], rows[-1]["kind"], rows[-1]["loop"]) == (None, "loop", loop.pk)
    assert [row["name"] for row in items(client, "/instances/?cluster=c1")] == ["i1"]
    assert [row["owner"] for row in items(client, "/instances/?owner=parked")] == ["parked"]
    assert len(items(client, f"/instances/?provider={provider.pk}")) == 4
    assert items(client, "/instances/?provider=another") == []


def test_an_owner_shows_its_only_instance_and_of_several_nothing(client: APIClient) -> None:
    owner = make_owner("default")
    address = f"{API}/owners/{owner.pk}/"
    fields = ("policy", "cluster", "registry_profile", "instances")

    def shown() -> list[object]:
        answer = read(client.get(address))
        return [answer[name] for name in fields]

    none_known = shown()
    etag = client.get(address)["ETag"]
    body = {"policy": "sync", "cluster": make_cluster("east").name}
    created = client.patch(address, body, headers={"If-Match": etag})
    only = shown()
    make_instance(owner, "west", policy="create-only")
    several = shown()
    refused = client.patch(address, {"policy": "sync"}, headers={"If-Match": created["ETag"]})
    taken = client.patch(address, {"description": "Shared."}, headers={"If-Match": created["ETag"]})

    assert none_known == ["unknown", None, None, 0]
    assert created.status_code == 200, created.content
    assert only == ["sync", "east", None, 1]
    assert several == [None, None, None, 2]
    assert (refused.status_code, read(refused)["code"]) == (409, "several_instances")
    assert "/api/v1/instances/" in read(refused)["todo"]
    assert (taken.status_code, read(taken)["description"]) == (200, "Shared.")


def test_only_a_token_with_the_scope_admin_says_what_runs() -> None:
    instance = make_instance(make_owner())
    address = f"{API}/instances/{instance.pk}/"
    narrow = make_client(make_administrator(), "read", "plan")
    nobody = make_client(make_user("alice"))

    for client in (narrow, nobody):
        etag = client.get(address)["ETag"]
        answers = [
            client.post(f"{API}/instances/", {"owner": "blue-cluster"}),
            client.patch(address, {"policy": "sync"}, headers={"If-Match": etag}),
            client.delete(address, headers={"If-Match": etag}),
        ]
        assert [answer.status_code for answer in answers] == [403, 403, 403]

    assert list(Instance.objects.values_list("policy", flat=True)) == ["unknown"]


def test_a_long_list_costs_as_many_statements_as_a_short_one(
    client: APIClient, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    provider = make_provider()
    profile = RegistryProfile.objects.create(name="edge", prefix="x-")
    for number in range(30):
        owner = make_owner(f"owner-{number}", registry_profile=profile, cluster=make_cluster(f"c{number}"))
        owner.instances.update(provider=provider)
        Loop.objects.create(owner=owner, provider=provider)

    for address in ("/instances/", "/owners/"):
        with django_assert_max_num_queries(12):
            assert items(client, f"{address}?limit=1000")
