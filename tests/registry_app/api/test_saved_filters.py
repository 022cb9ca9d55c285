"""A program saves, finds, changes and deletes filters as a person does."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from rest_framework.test import APIClient

from registry_app.models import AuditEntry, SavedFilter
from tests.factories import make_owner, make_provider, make_record_set, make_user
from tests.registry_app.api.client import API, items, make_client

pytestmark = pytest.mark.django_db
_LIST = f"{API}/saved-filters/"
_CONFLICTS = {
    "name": "conflicts",
    "list": "record-sets",
    "filters": {"state": "conflict,unknown", "owner": "12"},
}


@pytest.fixture
def alice() -> User:
    user = make_user("alice")
    user.groups.add(Group.objects.create(name="team-blue"))
    return user


def _save(client: APIClient, **change: Any) -> Any:
    return client.post(_LIST, {**_CONFLICTS, **change}, format="json")


def test_a_filter_is_saved_found_renamed_shared_and_deleted(alice: User) -> None:
    client, bob = make_client(alice), make_user("bob")
    saved = _save(client)
    address = saved["Location"]
    unseen = items(make_client(bob), "/saved-filters/")
    changed = client.patch(
        address,
        {"name": "quarrels", "group": "team-blue", "is_pinned": True},
        format="json",
        headers={"If-Match": saved["ETag"]},
    )
    bob.groups.add(Group.objects.get())
    shared = items(make_client(bob), "/saved-filters/?list=record-sets")
    others = items(make_client(bob), "/saved-filters/?list=findings")
    theirs = make_client(bob).patch(address, {"name": "x"}, format="json", headers={"If-Match": "*"})
    gone = client.delete(address, headers={"If-Match": changed["ETag"]})

    assert (saved.status_code, changed.status_code, theirs.status_code, gone.status_code) == (
        201,
        200,
        403,
        204,
    )
    assert saved.json()["path"] == "/api/v1/record-sets/?state=conflict%2Cunknown&owner=12"
    assert saved.json()["page"].endswith("/recordset/?state=conflict%2Cunknown&owner_name=12")
    assert unseen == others == []
    assert [(row["name"], row["user"], row["group"], row["is_pinned"]) for row in shared] == [
        ("quarrels", "alice", "team-blue", True)
    ]
    assert not SavedFilter.objects.exists()
    assert AuditEntry.objects.filter(action__startswith="savedfilter.").count() == 3


def test_its_path_gives_the_rows(alice: User) -> None:
    zone = make_provider()
    make_record_set(zone, "a.example.org", owner=make_owner("12"))
    make_record_set(zone, "b.example.org")
    client = make_client(alice)
    saved = _save(client, filters={"owner": "12", "missing": "false"}).json()

    for key in ("path", "page"):
        assert saved[key].startswith("/")
    assert [row["name"] for row in client.get(saved["path"]).json()["items"]] == ["a.example.org"]


def test_what_cannot_be_is_refused_by_name(alice: User) -> None:
    Group.objects.create(name="team-green")
    client = make_client(alice)
    assert _save(client).status_code == 201
    for change, field in (
        ({}, "name"),
        ({"list": "tokens"}, "list"),
        ({"filters": {"updated_since": "2026-01-01"}}, "filters"),
        ({"filters": {}}, "filters"),
        ({"group": "team-green"}, "group"),
        ({"user": "bob"}, "user"),
    ):
        response = _save(client, **change)

        assert response.status_code in (400, 422), change
        assert field in response.json()["fields"], (change, response.json())
    row = SavedFilter.objects.get()
    moved = client.patch(f"{_LIST}{row.pk}/", {"list": "owners"}, format="json", headers={"If-Match": "*"})
    assert moved.status_code == 422
    assert list(moved.json()["fields"]) == ["list"]
