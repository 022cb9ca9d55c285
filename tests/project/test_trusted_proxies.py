"""A header anybody may send is believed from our own proxies alone."""

from ipaddress import ip_network

import pytest
from django.test import Client
from pytest_django import Settings

from dnsadmin.trusted_proxies import find_client_address
from tests.factories import make_user
from tests.registry_app.api.client import make_token

pytestmark = pytest.mark.one_database

PROXIES = [ip_network("10.0.0.0/8"), ip_network("2001:db8::/32")]


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "client"),
    [
        ("192.0.2.9", "198.51.100.1", "192.0.2.9"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "203.0.113.5, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "198.51.100.1, 10.0.0.2", "198.51.100.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "198.51.100.1, nonsense", "10.0.0.1"),
        ("2001:db8::1", "198.51.100.1", "198.51.100.1"),
        ("", "198.51.100.1", ""),
    ],
)
def test_the_client_is_the_nearest_that_is_no_proxy_of_ours(
    peer: str, forwarded_for: str, client: str
) -> None:
    assert find_client_address(peer, forwarded_for, PROXIES) == client


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("proxies", "peer", "status"),
    [([], "10.0.0.1", 403), (["10.0.0.0/8"], "10.0.0.1", 200), (["10.0.0.0/8"], "192.0.2.9", 403)],
)
def test_the_networks_of_a_token_are_held_against_the_client_behind_the_proxy(
    settings: Settings, proxies: list[str], peer: str, status: int
) -> None:
    settings.DNSADMIN_TRUSTED_PROXIES = proxies
    _, text = make_token(make_user("alice"), networks=["198.51.100.0/24"])

    answer = Client().get(
        "/api/v1/owners/",
        REMOTE_ADDR=peer,
        headers={"Authorization": f"Bearer {text}", "X-Forwarded-For": "198.51.100.1"},
    )

    assert answer.status_code == status
