"""Who gets in with a token, and what everybody else gets."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from registry_app.models import ApiToken
from tests.factories import make_owner, make_user
from tests.registry_app.api.client import API, make_client, make_token, read

pytestmark = pytest.mark.django_db


def _status_with(header: str) -> int:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=header)
    return client.get(f"{API}/record-sets/").status_code


def test_a_token_opens_the_door() -> None:
    token, text = make_token(make_user("alice"))

    status = _status_with(f"Bearer {text}")

    token.refresh_from_db()
    assert status == 200
    assert token.last_used_at is not None


def test_the_scheme_is_read_in_any_case() -> None:
    _, text = make_token(make_user("alice"))

    assert _status_with(f"bEARER {text}") == 200


def test_without_a_token_nobody_is_let_in() -> None:
    response = APIClient().get(f"{API}/record-sets/")

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="dnsadmin"'
    assert response["Content-Type"] == "application/problem+json"
    assert read(response)["code"] == "not_authenticated"


@pytest.mark.parametrize(
    "text",
    ["", "dnsa", "dnsa__", "dnsa_a_b", "dnsa_" + "a" * 5000, "dnsa_ä_ö", "x_y_z", "dnsa_\0_\0", "a b c"],
)
def test_what_is_no_token_is_refused_alike(text: str) -> None:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")

    response = client.get(f"{API}/record-sets/")

    assert response.status_code == 401
    assert read(response)["code"] == "authentication_failed"


@pytest.mark.parametrize("fault", ["wrong secret", "revoked", "expired", "inactive user"])
def test_a_token_that_is_not_good_any_more_is_refused_with_the_same_words(fault: str) -> None:
    alice = make_user("alice")
    token, text = make_token(alice)
    now = timezone.now()
    if fault == "wrong secret":
        text = text[:-1] + ("0" if text[-1] != "0" else "1")
    if fault == "revoked":
        ApiToken.objects.update(revoked_at=now)
    if fault == "expired":
        ApiToken.objects.update(expires_at=now - timedelta(seconds=1))
    if fault == "inactive user":
        alice.is_active = False
        alice.save()
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")

    response = client.get(f"{API}/record-sets/")

    token.refresh_from_db()
    assert response.status_code == 401
    assert read(response)["happened"] == (
        "The token is unknown, expired or revoked, or its user is not active."
    )
    assert token.last_used_at is None


@pytest.mark.parametrize("offset", [timedelta(hours=-1), timedelta(hours=1)])
def test_a_token_expires_by_the_databases_clock(offset: timedelta) -> None:
    now = timezone.now()
    _, good = make_token(make_user("alice"), expires_at=now + timedelta(minutes=1))
    token, expired = make_token(make_user("bob"))
    ApiToken.objects.filter(pk=token.pk).update(expires_at=now - timedelta(minutes=1))

    with time_machine.travel(now + offset):
        assert [_status_with(f"Bearer {text}") for text in (good, expired)] == [200, 401]


@pytest.mark.parametrize(
    ("networks", "status"),
    [
        (["192.0.2.0/24"], 200),
        (["198.51.100.0/24"], 403),
        (["2001:db8::/32"], 403),
        (["198.51.100.0/24", "192.0.2.7/32"], 200),
    ],
)
def test_a_token_works_in_its_networks_only(networks: list[str], status: int) -> None:
    client = make_client(make_user("alice"), networks=networks)

    response = client.get(f"{API}/record-sets/", REMOTE_ADDR="192.0.2.7")

    assert response.status_code == status


def test_its_last_use_is_written_once_a_minute() -> None:
    token, text = make_token(make_user("alice"))
    recently = timezone.now() - timedelta(seconds=30)
    ApiToken.objects.update(last_used_at=recently)

    _status_with(f"Bearer {text}")

    token.refresh_from_db()
    assert token.last_used_at == recently


@pytest.mark.parametrize(
    ("method", "address", "scope"),
    [
        ("get", "/record-sets/", "read"),
        ("post", "/transfers/", "plan"),
        ("post", "/transfers/preview/", "plan"),
        ("post", "/transfers/00000000-0000-0000-0000-000000000000/approve/", "approve"),
        ("post", "/transfers/00000000-0000-0000-0000-000000000000/reject/", "approve"),
        ("post", "/transfers/00000000-0000-0000-0000-000000000000/cancel/", "plan"),
        ("post", "/transfers/00000000-0000-0000-0000-000000000000/undo/", "plan"),
        ("post", "/transfers/00000000-0000-0000-0000-000000000000/decide/", "apply"),
        ("post", "/providers/", "admin"),
        ("patch", "/providers/1/", "admin"),
        ("post", "/providers/1/syncs/", "admin"),
        ("post", "/providers/1/connection-tests/", "admin"),
        ("post", "/registry-profiles/1/connection-tests/", "admin"),
        ("post", "/clusters/1/connection-tests/", "admin"),
        ("post", "/owners/", "admin"),
        ("post", "/tokens/", "admin"),
        ("delete", "/tokens/1/", "admin"),
        ("post", "/freezes/", "admin"),
        ("post", "/findings/1/acknowledge/", "admin"),
        ("post", "/held-snapshots/1/accept/", "admin"),
    ],
)
def test_a_token_without_the_scope_is_told_which_one_it_needs(method: str, address: str, scope: str) -> None:
    others = set(ApiToken.SCOPES) - {scope}
    client = make_client(make_user("root", is_superuser=True), *others)

    response = getattr(client, method)(API + address, {}, format=None if method == "get" else "json")

    assert response.status_code == 403
    assert read(response)["code"] == "missing_scope"
    assert repr(scope) in read(response)["happened"]


def test_a_session_reads_without_a_token() -> None:
    client = APIClient()
    client.force_login(make_user("dora"))

    assert client.get(f"{API}/record-sets/").status_code == 200


def test_a_session_writes_only_with_its_csrf_token() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user("root", is_superuser=True))

    response = client.post(f"{API}/clusters/", {"name": "blue"}, content_type="application/json")

    assert response.status_code == 403
    assert "CSRF" in response.json()["happened"]


def test_a_person_who_is_no_administrator_registers_nothing() -> None:
    client = make_client(make_user("alice"))

    response = client.post(f"{API}/owners/", {"owner_id": "blue-cluster"})

    assert response.status_code == 403
    assert read(response)["code"] == "not_allowed"


def test_a_token_narrowed_to_owners_says_so() -> None:
    make_owner("blue-cluster")
    client = make_client(make_user("alice"), owner_ids=["blue-cluster"])

    response = client.get(f"{API}/tokens/")

    assert read(response)["items"][0]["owners"] == ["blue-cluster"]
