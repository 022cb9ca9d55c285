"""Instances in the web admin: listed, registered, changed and removed by administrators alone."""

import pytest

from registry_app.models import Instance
from tests.factories import (
    make_administrator,
    make_cluster,
    make_instance,
    make_owner,
    make_provider,
    make_user,
)
from tests.registry_app.admin.world import address, read_text, sign_in

pytestmark = pytest.mark.django_db

FORM = {
    "owner": "default",
    "name": "",
    "cluster": "east",
    "provider": "blue-zone",
    "policy": "sync",
    "registry_profile": "",
    "domain_include": "Example.org\n.apps.example.net",
    "domain_exclude": "internal.example.org",
    "managed_types": "a\nCNAME",
    "claim_cache_seconds": "300",
}


def test_an_instance_is_registered_shown_changed_and_removed() -> None:
    client = sign_in(make_administrator())
    make_owner("default")
    make_cluster("east")
    make_provider("blue-zone")

    registered = read_text(client.post(address("instance_register"), FORM, follow=True))
    row = Instance.objects.get()
    listed = read_text(client.get(address("instance_changelist")))
    change = {**FORM, "name": "main", "policy": "upsert-only", "domain_include": "", "provider": ""}
    changed = read_text(client.post(address("instance_edit", row.pk), change, follow=True))
    asked = read_text(client.get(address("instance_remove", row.pk)))
    removed = client.post(address("instance_remove", row.pk), {}, follow=True)

    assert (row.owner.owner_id, row.name) == ("default", "east")
    assert (row.domain_include, row.managed_types) == (["example.org", ".apps.example.net"], ["A", "CNAME"])
    assert "example.org, .apps.example.net, but not internal.example.org" in registered
    assert "for 300 s" in registered
    assert all(text in listed for text in ("default", "east", "blue-zone", "sync"))
    assert "Saved." in changed
    assert "Unknown: assumed at every provider" in changed
    assert "upsert-only" in changed
    assert "record sets stay." in asked
    assert "Deleted." in read_text(removed)
    assert not Instance.objects.exists()


def test_what_is_refused_stands_beside_its_field_and_nothing_is_lost() -> None:
    client = sign_in(make_administrator())
    owner = make_owner("default")
    make_instance(owner, "taken")

    for field, value in (("managed_types", "BOGUS"), ("domain_include", "a..b"), ("owner", "nobody")):
        form = {**FORM, "cluster": "", "provider": "", field: value}
        refused = client.post(address("instance_register"), form)
        assert refused.status_code == 422, field
        assert value in read_text(refused)
        assert list(refused.context["form"].errors) == [field]
    assert Instance.objects.count() == 1


def test_a_form_that_is_older_than_the_row_changes_nothing() -> None:
    client = sign_in(make_administrator())
    row = make_instance(make_owner("default"), "east")
    form = {**FORM, "name": "late", "cluster": "", "provider": "", "read_at": "2020-01-01T00:00:00+00:00"}

    edited = client.post(address("instance_edit", row.pk), form)
    removed = client.post(address("instance_remove", row.pk), {"read_at": "2020-01-01T00:00:00+00:00"})

    assert (edited.status_code, removed.status_code) == (409, 409)
    assert Instance.objects.get().name == "east"


def test_who_is_no_administrator_reads_and_changes_nothing() -> None:
    client = sign_in(make_user("charlie"))
    row = make_instance(make_owner("default"), "east")
    pages = [
        ("instance_register", ()),
        ("instance_edit", (row.pk,)),
        ("instance_remove", (row.pk,)),
    ]

    listed = client.get(address("instance_changelist"))

    assert "Register instance" not in read_text(listed)
    for name, args in pages:
        assert client.get(address(name, *args)).status_code == 403, name
        sent = client.post(address(name, *args), {**FORM, "name": "late", "cluster": "", "provider": ""})
        assert sent.status_code == 403, name
    assert Instance.objects.get().name == "east"
