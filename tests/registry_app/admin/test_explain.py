"""The page that explains a name."""

import pytest
from django.urls import reverse

from registry_app.clock import fetch_now
from registry_app.models import Freeze
from tests.factories import (
    make_desired_set,
    make_guard_endpoint,
    make_held_delete,
    make_instance,
    make_owner,
    make_provider,
    make_user,
)
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.admin.world import sign_in
from tests.registry_app.reconcile.changing_zone import show
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db

WWW = "www.example.org"


def test_it_shows_what_is_at_a_name_and_was_at_a_moment() -> None:
    around = make_zone("blue-cluster", 20)
    with ReferenceProvider([*around, make_record(WWW), make_claim(WWW)]) as reference:
        provider = make_provider("zone", url=reference.url)
        sync(provider)
        before = fetch_now().isoformat()
        show(reference, [*around, make_record(WWW, targets=("192.0.2.99",)), make_claim(WWW)])
        sync(provider)
    guard = make_guard_endpoint(make_instance(make_owner("green-cluster")), provider)
    make_desired_set(guard, WWW)
    make_held_delete(guard, WWW)
    Freeze.objects.create(provider=provider, names=[WWW], reason="change stop", starts_at=fetch_now())
    client = sign_in(make_user("alice"))

    empty = client.get(reverse("explain"))
    page = client.get(reverse("explain"), {"name": "WWW.example.org.", "at": before}).content.decode()

    assert empty.status_code == 200
    for words in ("192.0.2.99", "192.0.2.1", "blue-cluster", "change stop", "Wanted by", "A delete by"):
        assert words in page
    found = client.get(reverse("find"), {"q": WWW}).content.decode()
    assert f"{reverse('explain')}?name={WWW}" in found


@pytest.mark.parametrize(
    ("name", "at", "words"),
    [
        ("nothing.example.org", "", "No provider has or had anything"),
        ("<script>alert(1)</script>", "", "No provider has or had anything"),
        ("x" * 300, "", "That is no DNS name."),
        (WWW, "yesterday", "That is no moment."),
        (WWW, "2026-13-45T99:99", "That is no moment."),
    ],
)
def test_what_is_not_known_or_no_name_is_said(name: str, at: str, words: str) -> None:
    make_provider("zone")

    page = sign_in(make_user("alice")).get(reverse("explain"), {"name": name, "at": at}).content.decode()

    assert words in page
    assert "<script>alert" not in page


def test_somebody_who_may_not_read_gets_nothing() -> None:
    client = sign_in(make_user("alice", is_active=True))
    client.logout()

    assert client.get(reverse("explain"), {"name": WWW}).status_code == 302
