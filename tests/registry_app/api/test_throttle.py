"""So many requests a minute for each token."""

import pytest
from pytest_django import Settings

from tests.factories import make_user
from tests.registry_app.api.client import API, make_client, read

pytestmark = pytest.mark.django_db


def test_too_many_requests_are_told_when_to_come_back(settings: Settings) -> None:
    settings.DNSADMIN_API_REQUESTS_PER_MINUTE = 3
    client = make_client(make_user("alice"))

    # Seven in a row span two windows at most: one of them sees four.
    answers = [client.get(f"{API}/clusters/") for _ in range(7)]

    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert answers[0].status_code == 200
    assert 1 <= int(refused[0]["Retry-After"]) <= 60
    assert read(refused[0])["code"] == "throttled"


def test_one_token_does_not_use_up_anothers_share(settings: Settings) -> None:
    settings.DNSADMIN_API_REQUESTS_PER_MINUTE = 3
    alice = make_user("alice")
    busy, quiet = make_client(alice), make_client(alice)

    for _ in range(7):
        busy.get(f"{API}/clusters/")

    assert quiet.get(f"{API}/clusters/").status_code == 200


def test_without_its_cache_the_door_stays_open(settings: Settings) -> None:
    client = make_client(make_user("alice"))
    nowhere = {**settings.CACHES["default"], "LOCATION": "unix:///nonexistent/broker.sock"}
    settings.CACHES = {"default": nowhere}

    assert client.get(f"{API}/clusters/").status_code == 200
