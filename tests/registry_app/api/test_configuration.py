"""Providers, owners, clusters and registry profiles: versions, and secrets that never come back."""

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from providers.wire.endpoint import EndpointKey
from registry_app.database_claims import RowChange, change_rows
from registry_app.models import AuditEntry, Cluster, Loop, Owner, Provider, RegistryProfile
from tests.factories import (
    make_administrator,
    make_cluster,
    make_owner,
    make_provider,
    make_record_set,
    make_user,
)
from tests.registry_app.api.client import API, items, make_client, read

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

_SECRET = "s3cr3t-of-blue"


@pytest.fixture
def client() -> APIClient:
    return make_client(make_administrator())


def test_a_provider_is_registered_and_its_secret_is_in_no_answer(client: APIClient) -> None:
    body = {
        "name": "blue-zone",
        "url": "http://192.0.2.53:8888",
        "authentication": "bearer",
        "secret": _SECRET,
        "client_key": f"-----{_SECRET}-----",
        "url_query": f"token={_SECRET}",
    }

    created = client.post(f"{API}/providers/", body)

    provider = Provider.objects.get()
    addresses = ["/providers/", f"/providers/{provider.pk}/", "/audit-entries/"]
    answers = [created, *(client.get(API + address) for address in addresses)]
    assert created.status_code == 201, created.content
    assert created["Location"].endswith(f"{API}/providers/{provider.pk}/")
    assert (read(created)["has_secret"], read(created)["has_url_query"]) == (True, True)
    assert (provider.secret, provider.url_query) == (_SECRET, f"token={_SECRET}")
    assert all(_SECRET.encode() not in answer.content for answer in answers)


def test_a_refused_provider_does_not_repeat_its_secret(client: APIClient) -> None:
    response = client.post(f"{API}/providers/", {"name": "", "url": "http://192.0.2.53", "secret": _SECRET})

    assert response.status_code == 422
    assert _SECRET.encode() not in response.content


@pytest.mark.parametrize("url", ["", "ftp://192.0.2.1", "nonsense", "http://", "http://[::1", "http://a b"])
def test_a_bad_url_is_refused_by_field(client: APIClient, url: str) -> None:
    response = client.post(f"{API}/providers/", {"name": "blue-zone", "url": url})

    assert response.status_code == 422
    assert "url" in read(response)["fields"]
    assert not Provider.objects.exists()


def test_the_key_of_a_registry_profile_is_in_no_answer(client: APIClient) -> None:
    body = {"name": "encrypted", "prefix": "x-", "encryption_key": "k" * 32}

    created = client.post(f"{API}/registry-profiles/", body)

    profile = RegistryProfile.objects.get()
    shown = client.get(f"{API}/registry-profiles/{profile.pk}/")
    assert created.status_code == 201, created.content
    assert profile.encryption_key == "k" * 32
    assert read(shown)["has_encryption_key"] is True
    assert "encryption_key" not in read(shown)
    assert b"k" * 32 not in created.content + shown.content


def test_a_change_keeps_the_secret_that_is_not_sent(client: APIClient) -> None:
    provider = make_provider(secret=_SECRET)
    etag = client.get(f"{API}/providers/{provider.pk}/")["ETag"]

    response = client.patch(
        f"{API}/providers/{provider.pk}/", {"interval_seconds": 90}, headers={"If-Match": etag}
    )

    provider.refresh_from_db()
    assert response.status_code == 200, response.content
    assert (provider.interval_seconds, provider.secret) == (90, _SECRET)


@pytest.mark.parametrize("noun", ["providers", "owners", "clusters", "registry-profiles"])
def test_a_change_says_which_version_it_was_made_from(client: APIClient, noun: str) -> None:
    rows = {
        "providers": make_provider(),
        "owners": make_owner(),
        "clusters": make_cluster(),
        "registry-profiles": RegistryProfile.objects.create(name="plain"),
    }
    address = f"{API}/{noun}/{rows[noun].pk}/"
    field = "wildcard_replacement" if noun == "registry-profiles" else "description"
    etag = client.get(address)["ETag"]

    without = client.patch(address, {field: "a"})
    first = client.patch(address, {field: "b"}, headers={"If-Match": etag})
    stale = client.patch(address, {field: "c"}, headers={"If-Match": etag})
    again = client.patch(address, {field: "d"}, headers={"If-Match": first["ETag"]})

    assert [answer.status_code for answer in (without, first, stale, again)] == [428, 200, 412, 200]
    assert read(stale)["code"] == "precondition_failed"
    assert read(client.get(address))[field] == "d"


@pytest.mark.parametrize("noun", ["providers", "owners", "clusters", "registry-profiles", "loops"])
def test_a_row_is_deleted_only_as_it_was_read_and_only_once(client: APIClient, noun: str) -> None:
    rows = {
        "providers": make_provider(),
        "owners": make_owner(),
        "clusters": make_cluster(),
        "registry-profiles": RegistryProfile.objects.create(name="plain"),
        "loops": Loop.objects.create(owner=make_owner("parked"), provider=make_provider("parking")),
    }
    address = f"{API}/{noun}/{rows[noun].pk}/"
    etag = client.get(address)["ETag"]

    without = client.delete(address)
    stale = client.delete(address, headers={"If-Match": '"1"'})
    first = client.delete(address, headers={"If-Match": etag})
    again = client.delete(address, headers={"If-Match": etag})

    assert [answer.status_code for answer in (without, stale, first, again)] == [428, 412, 204, 404]
    assert rows[noun].pk not in [row["id"] for row in items(client, f"/{noun}/")]
    assert AuditEntry.objects.get(action__endswith=".deleted").object_label == str(rows[noun])


def test_a_change_to_a_name_that_is_taken_is_refused_and_to_its_own_is_not(client: APIClient) -> None:
    provider = make_provider("blue-zone")
    make_provider("green-zone")
    address = f"{API}/providers/{provider.pk}/"
    etag = client.get(address)["ETag"]

    taken = client.patch(address, {"name": "green-zone"}, headers={"If-Match": etag})
    own = client.patch(address, {"name": "blue-zone"}, headers={"If-Match": etag})

    assert (taken.status_code, own.status_code) == (422, 200)


def test_an_owner_is_registered_with_where_it_runs(client: APIClient) -> None:
    make_cluster("blue")
    body = {
        "owner_id": "blue-cluster",
        "cluster": "blue",
        "policy": "sync",
        "name_patterns": ["example.org"],
    }

    response = client.post(f"{API}/owners/", body)

    assert response.status_code == 201, response.content
    assert read(response)["cluster"] == "blue"
    assert read(response)["status"] == "registered"
    assert Owner.objects.get().name_patterns == ["example.org"]


def test_an_owner_seen_in_claims_is_registered_by_changing_it(client: APIClient) -> None:
    owner = make_owner(status=Owner.Status.DISCOVERED)
    address = f"{API}/owners/{owner.pk}/"
    etag = client.get(address)["ETag"]

    response = client.patch(address, {"policy": "sync", "status": "registered"}, headers={"If-Match": etag})

    assert response.status_code == 200, response.content
    assert read(response)["status"] == "registered"


def test_a_change_of_something_else_does_not_register_an_owner(client: APIClient) -> None:
    owner = make_owner(status=Owner.Status.DISCOVERED)
    address = f"{API}/owners/{owner.pk}/"
    etag = client.get(address)["ETag"]

    response = client.patch(address, {"description": "seen"}, headers={"If-Match": etag})

    assert read(response)["status"] == "discovered"


def test_owners_show_their_record_sets_per_provider(client: APIClient) -> None:
    blue = make_owner("blue-cluster")
    make_owner("green-cluster")
    provider = make_provider()
    make_record_set(provider, "a.example.org", owner=blue)
    make_record_set(provider, "b.example.org", owner=blue)

    shown = {item["owner_id"]: item["counts"] for item in items(client, "/owners/")}

    assert shown == {
        "blue-cluster": [{"provider": provider.pk, "record_sets": 2}],
        "green-cluster": [],
    }


@pytest.mark.parametrize("count", [2, 30])
def test_a_page_of_owners_costs_the_same_however_many(
    client: APIClient, count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    provider = make_provider()
    for number in range(count):
        make_record_set(provider, f"n{number}.example.org", owner=make_owner(f"owner-{number}"))
    client.get(f"{API}/owners/")

    with django_assert_max_num_queries(6):
        assert len(items(client, "/owners/")) == count


@pytest.mark.parametrize("count", [2, 30])
def test_a_page_of_freezes_costs_the_same_however_many(
    client: APIClient, count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    provider = make_provider()
    for _ in range(count):
        provider.freezes.create(reason="Moving.", starts_at=timezone.now(), created_by="root")
    client.get(f"{API}/freezes/")

    with django_assert_max_num_queries(5):
        assert len(items(client, "/freezes/")) == count


def test_each_change_has_one_audit_entry_with_who_and_through_what(client: APIClient) -> None:
    response = client.post(f"{API}/clusters/", {"name": "blue"})

    entry = AuditEntry.objects.get(action="cluster.registered")
    assert (entry.actor_kind, entry.actor_name) == ("token", "root (deploy)")
    assert entry.request_id == response["X-Request-Id"]


def test_people_see_configuration_they_may_not_change() -> None:
    provider = make_provider()
    client = make_client(make_user("dora"))
    etag = client.get(f"{API}/providers/{provider.pk}/")["ETag"]

    response = client.patch(f"{API}/providers/{provider.pk}/", {"name": "mine"}, headers={"If-Match": etag})

    assert response.status_code == 403


def test_the_credentials_of_a_cluster_are_in_no_answer(client: APIClient) -> None:
    body = {"name": "blue", "api_url": "https://192.0.2.1:6443", "token": _SECRET, "client_key": _SECRET}

    created = client.post(f"{API}/clusters/", body)

    cluster = Cluster.objects.get()
    addresses = ["/clusters/", f"/clusters/{cluster.pk}/", "/audit-entries/"]
    answers = [created, *(client.get(API + address) for address in addresses)]
    assert created.status_code == 201, created.content
    assert (read(created)["has_token"], read(created)["api_url"]) == (True, "https://192.0.2.1:6443")
    assert (cluster.token, cluster.client_key) == (_SECRET, _SECRET)
    assert all(_SECRET.encode() not in answer.content for answer in answers)


def test_a_registry_store_is_registered_with_where_it_is(client: APIClient) -> None:
    make_cluster("blue")
    provider = make_provider()
    maps = {"name": "maps", "kind": "configmap", "cluster": "blue", "namespace": "dns"}
    table = {"name": "table", "kind": "dynamodb", "table": "external-dns", "region": "eu-central-1"}
    secret = {"access_key_id": "AKIA", "secret_access_key": _SECRET, "session_token": f"token-{_SECRET}"}

    first = client.post(f"{API}/registry-profiles/", {**maps, "providers": [provider.pk]})
    second = client.post(f"{API}/registry-profiles/", {**table, **secret, "providers": [provider.pk]})
    homeless = client.post(f"{API}/registry-profiles/", {**maps, "name": "homeless"})

    assert [answer.status_code for answer in (first, second, homeless)] == [201, 201, 422]
    assert (read(first)["cluster"], read(first)["namespace"]) == ("blue", "dns")
    assert read(second)["has_secret_access_key"] is True
    assert (read(first)["has_session_token"], read(second)["has_session_token"]) == (False, True)
    assert _SECRET.encode() not in second.content
    assert "providers" in read(homeless)["fields"]


def test_what_keeps_no_claims_beside_dns_has_no_connection_to_test(client: APIClient) -> None:
    profile = RegistryProfile.objects.create(name="plain")
    cluster = make_cluster()

    answers = [
        client.post(f"{API}/registry-profiles/{profile.pk}/connection-tests/", {}),
        client.post(f"{API}/clusters/{cluster.pk}/connection-tests/", {}),
    ]

    assert [answer.status_code for answer in answers] == [422, 422]
    assert "no connection to test" in read(answers[0])["detail"]
    assert "api_url" in read(answers[1])["fields"]


def test_the_connection_test_of_a_registry_counts_its_claims_by_owner(client: APIClient) -> None:
    profile = RegistryProfile.objects.create(name="kept", kind="database")
    profile.providers.set([make_provider()])
    text = "heritage=external-dns,external-dns/owner=blue-cluster"
    change_rows(profile.pk, [RowChange(EndpointKey("www.example.org", "A", ""), None, text)])

    answer = client.post(f"{API}/registry-profiles/{profile.pk}/connection-tests/", {})

    assert answer.status_code == 200
    assert read(answer)["owners"] == [{"owner_id": "blue-cluster", "claims": 1}]
