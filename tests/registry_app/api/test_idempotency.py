"""The same key with the same body takes effect once (I16)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import requests
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer
from rest_framework.response import Response
from rest_framework.test import APIClient

from registry_app.api.idempotency import act_under_claim
from registry_app.errors import StateMoved
from registry_app.models import ApiToken, AuditEntry, Cluster, IdempotencyKey
from tests.factories import make_administrator, make_cluster
from tests.registry_app.api.client import API, make_client, make_token, read

_KEY = {"Idempotency-Key": "5f2b0f60"}


@pytest.fixture
def client(db: None) -> APIClient:
    return make_client(make_administrator())


def test_a_replay_gives_the_first_answer_and_does_nothing(client: APIClient) -> None:
    first = client.post(f"{API}/clusters/", {"name": "blue"}, headers=_KEY)

    second = client.post(f"{API}/clusters/", {"name": "blue"}, headers=_KEY)

    assert (first.status_code, second.status_code) == (201, 201)
    assert read(first) == read(second)
    assert first["Location"] == second["Location"]
    assert second["Idempotency-Replayed"] == "true"
    assert Cluster.objects.count() == 1
    assert AuditEntry.objects.filter(action="cluster.registered").count() == 1


def test_another_body_under_the_same_key_is_refused(client: APIClient) -> None:
    client.post(f"{API}/clusters/", {"name": "blue"}, headers=_KEY)

    response = client.post(f"{API}/clusters/", {"name": "green"}, headers=_KEY)

    assert response.status_code == 422
    assert read(response)["code"] == "idempotency_key_reused"
    assert Cluster.objects.count() == 1


def test_another_address_under_the_same_key_is_refused(client: APIClient) -> None:
    client.post(f"{API}/clusters/", {"name": "blue"}, headers=_KEY)

    response = client.post(f"{API}/registry-profiles/", {"name": "blue"}, headers=_KEY)

    assert response.status_code == 422


@pytest.mark.django_db
def test_another_token_of_the_same_person_does_not_read_the_answer() -> None:
    root = make_administrator()
    make_client(root).post(f"{API}/clusters/", {"name": "blue"}, headers=_KEY)

    response = make_client(root).post(f"{API}/clusters/", {"name": "blue"}, headers=_KEY)

    assert response.status_code == 422


def test_a_key_in_flight_is_a_conflict(client: APIClient) -> None:
    client.post(f"{API}/clusters/", {"name": "blue"}, headers=_KEY)
    IdempotencyKey.objects.update(status_code=None, answer=None)

    response = client.post(f"{API}/clusters/", {"name": "blue"}, headers=_KEY)

    assert response.status_code == 409
    assert read(response)["code"] == "idempotency_in_flight"


def test_a_key_whose_request_died_long_ago_is_taken_over(client: APIClient) -> None:
    client.post(f"{API}/clusters/", {"name": "blue"}, headers=_KEY)
    Cluster.objects.all().delete()
    long_ago = timezone.now() - timedelta(minutes=10)
    IdempotencyKey.objects.update(status_code=None, answer=None, claimed_at=long_ago)

    response = client.post(f"{API}/clusters/", {"name": "blue"}, headers=_KEY)

    assert response.status_code == 201
    assert Cluster.objects.count() == 1


def test_a_refused_request_leaves_its_key_free(client: APIClient) -> None:
    refused = client.post(f"{API}/clusters/", {"name": ""}, headers=_KEY)

    accepted = client.post(f"{API}/clusters/", {"name": "blue"}, headers=_KEY)

    assert (refused.status_code, accepted.status_code) == (422, 201)


@pytest.mark.django_db
def test_a_request_that_lost_its_claim_to_another_takes_no_effect() -> None:
    now = timezone.now()
    stale = IdempotencyKey.objects.create(user=make_administrator(), key="k", claimed_at=now)
    IdempotencyKey.objects.update(claimed_at=now + timedelta(seconds=1))

    with pytest.raises(StateMoved):
        act_under_claim(stale, (), lambda: Response({"id": make_cluster("blue").pk}, status=201))

    assert not Cluster.objects.exists()
    assert IdempotencyKey.objects.get().status_code is None


@pytest.mark.parametrize("key", ["", "k" * 201, "kéy"])
def test_a_key_that_cannot_be_one_is_refused(client: APIClient, key: str) -> None:
    response = client.post(f"{API}/clusters/", {"name": "blue"}, headers={"Idempotency-Key": key})

    assert response.status_code == 400
    assert not Cluster.objects.exists()


@pytest.mark.django_db
def test_a_replay_does_not_show_a_token_again() -> None:
    client = APIClient()
    client.force_login(make_administrator())
    body = {"name": "ci", "scopes": ["read"]}
    first = read(client.post(f"{API}/tokens/", body, headers=_KEY))

    second = read(client.post(f"{API}/tokens/", body, headers=_KEY))

    assert first["token"].startswith("dnsa_")
    assert second == {**first, "token": ""}
    assert first["token"].rsplit("_", 1)[1] not in str(list(IdempotencyKey.objects.values()))
    assert ApiToken.objects.filter(name="ci").count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_at_the_same_moment_one_takes_effect(live_server: LiveServer) -> None:
    _, text = make_token(make_administrator())
    headers = {"Authorization": f"Bearer {text}", **_KEY}

    def send(_number: int) -> requests.Response:
        address = f"{live_server.url}{API}/clusters/"
        return requests.post(address, json={"name": "blue"}, headers=headers, timeout=60)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))

    assert {answer.status_code for answer in answers} <= {201, 409}
    assert any(answer.status_code == 201 for answer in answers)
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} <= {
        "idempotency_in_flight"
    }
    assert Cluster.objects.count() == 1
