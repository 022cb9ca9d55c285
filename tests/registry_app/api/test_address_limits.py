"""So many requests a minute from one address without a valid token, and so many logins."""

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings
from rest_framework.test import APIClient

from registry_app.queries.rate import name_address
from tests.factories import make_user
from tests.registry_app.api.client import API, make_client, read

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
PASSWORD = "correct horse battery"


@pytest.mark.parametrize("header", ["", "Bearer nonsense", "Bearer dnsa_0123456789abcdef_00"])
def test_who_sends_no_valid_token_is_told_when_to_come_back(settings: Settings, header: str) -> None:
    settings.DNSADMIN_REQUESTS_WITHOUT_TOKEN_PER_MINUTE = 3
    client = APIClient()
    if header:
        client.credentials(HTTP_AUTHORIZATION=header)

    # Seven in a row span two windows at most: one of them sees four.
    answers = [client.get(f"{API}/clusters/") for _ in range(7)]

    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert answers[0].status_code == 401
    assert {answer.status_code for answer in answers} == {401, 429}
    assert 1 <= int(refused[0]["Retry-After"]) <= 60
    assert read(refused[0])["code"] == "throttled"


def test_a_valid_token_from_the_same_address_goes_on(settings: Settings) -> None:
    settings.DNSADMIN_REQUESTS_WITHOUT_TOKEN_PER_MINUTE = 3
    client = make_client(make_user("alice"))

    for _ in range(7):
        APIClient().get(f"{API}/clusters/")

    assert client.get(f"{API}/clusters/").status_code == 200


def test_the_document_is_made_for_nobody_a_limited_number_of_times(settings: Settings) -> None:
    settings.DNSADMIN_REQUESTS_WITHOUT_TOKEN_PER_MINUTE = 1

    answers = [APIClient().get(f"{API}/schema/").status_code for _ in range(3)]

    assert 429 in answers


def test_one_address_tries_many_names_a_limited_number_of_times(settings: Settings) -> None:
    settings.DNSADMIN_LOGINS_PER_MINUTE = 3
    make_user("alice")
    client = Client()
    form = {"username": "alice", "password": PASSWORD}

    answers = [client.post(reverse("admin:login"), {**form, "username": f"user-{n}"}) for n in range(7)]
    right = client.post(reverse("admin:login"), form)
    elsewhere = client.post(reverse("admin:login"), form, REMOTE_ADDR="192.0.2.7")

    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert answers[0].status_code == 200
    assert 1 <= int(refused[0]["Retry-After"]) <= 60
    assert right.status_code == 429
    assert elsewhere.status_code == 302


def test_behind_a_proxy_its_clients_are_counted_one_by_one(settings: Settings) -> None:
    settings.DNSADMIN_LOGINS_PER_MINUTE = 1
    settings.DNSADMIN_TRUSTED_PROXIES = ["127.0.0.1/32"]
    client = Client()
    form = {"username": "alice", "password": "wrong"}

    answers = [
        client.post(reverse("admin:login"), form, headers={"X-Forwarded-For": f"192.0.2.{n}"}).status_code
        for n in range(5)
    ]

    assert answers == [200] * 5


def test_an_ipv6_network_counts_as_one_address() -> None:
    names = {name_address(f"2001:db8:0:1::{n}") for n in range(5)}

    assert names == {"2001:db8:0:1::"}
    assert name_address("2001:db8:0:2::1") == "2001:db8:0:2::"
    assert name_address("192.0.2.1") == name_address("::ffff:192.0.2.1") == "192.0.2.1"
    assert name_address("no address") == "unknown"
