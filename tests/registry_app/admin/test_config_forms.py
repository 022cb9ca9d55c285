"""What people tell us goes through the inventory; a refusal loses nothing but secrets."""

import pytest

from registry_app.models import AuditEntry, Cluster, Owner, Provider, RegistryProfile
from tests.factories import (
    make_administrator,
    make_cluster,
    make_owner,
    make_provider,
    make_record_set,
    make_user,
)
from tests.registry_app.admin.world import address, read_text, sign_in

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

SECRET = "correct-horse-battery-secret"
PROVIDER_FORM = {
    "name": "blue-zone",
    "url": f"http://127.0.0.1:8888?token={SECRET}",
    "protocol": "webhook",
    "description": "",
    "is_enabled": "on",
    "authentication": "bearer",
    "username": "",
    "secret": SECRET,
    "client_key": "",
    "ca_certificate": "",
    "client_certificate": "",
    "interval_seconds": "60",
    "hold_missing_percent": "30",
    "hold_owners_changed_percent": "30",
    "deadline_seconds": "30",
    "max_body_bytes": "33554432",
    "max_items": "200000",
    "write_mode": "unknown",
    "batch_size": "50",
    "read_back_seconds": "30",
    "approval_policy": "other_person",
    "max_transfer_count": "1000",
    "max_transfer_percent": "50",
}


def test_a_provider_is_registered_and_its_secret_is_never_shown() -> None:
    client = sign_in(make_administrator())

    response = client.post(address("provider_register"), PROVIDER_FORM, follow=True)
    provider = Provider.objects.get()
    pages = [
        read_text(client.get(url))
        for url in (
            address("provider_change", provider.pk),
            address("provider_edit", provider.pk),
            address("provider_changelist"),
            address("auditentry_change", AuditEntry.objects.get().pk),
        )
    ]

    assert response.status_code == 200
    assert (provider.secret, provider.url_query) == (SECRET, f"token={SECRET}")
    assert "secret set, URL query set" in pages[0]
    assert not [page for page in [read_text(response), *pages] if SECRET in page]


def test_a_bad_url_is_told_beside_its_field_and_the_rest_stays_typed() -> None:
    client = sign_in(make_administrator())

    response = client.post(
        address("provider_register"),
        {**PROVIDER_FORM, "url": "ftp://user:hunter2@zone.example.org", "description": "Our first zone."},
    )
    page = read_text(response)

    assert response.status_code == 422
    assert response.context["form"].errors["url"]
    assert "Our first zone." in page
    assert SECRET not in page
    assert "hunter2" not in page
    assert not Provider.objects.exists()


def test_a_secret_left_empty_stays_and_a_tick_forgets_it() -> None:
    provider = make_provider(authentication="bearer", secret=SECRET)
    client = sign_in(make_administrator())
    url = address("provider_edit", provider.pk)

    client.post(url, {**PROVIDER_FORM, "secret": "", "description": "Changed."})
    kept = Provider.objects.values_list("secret", "description").get()
    client.post(url, {**PROVIDER_FORM, "secret": "", "description": "Changed.", "forget_secret": "on"})

    assert kept == (SECRET, "Changed.")
    assert Provider.objects.get().secret == ""


def test_of_two_stale_forms_one_wins_and_the_other_keeps_what_was_typed() -> None:
    owner = make_owner()
    client = sign_in(make_administrator())
    url = address("owner_edit", owner.pk)
    read_at = client.get(url).context["read_at"]
    form = {"owner_id": owner.owner_id, "status": "registered", "policy": "sync", "read_at": read_at}

    first = client.post(url, {**form, "description": "Mine."})
    second = client.post(url, {**form, "description": "No, mine."})

    assert (first.status_code, second.status_code) == (302, 409)
    assert Owner.objects.get().description == "Mine."
    assert "No, mine." in read_text(second)
    assert "changed by someone else" in read_text(second)


def test_an_encryption_key_is_stored_and_never_shown() -> None:
    client = sign_in(make_administrator())
    key = "0123456789abcdef0123456789abcdef"

    client.post(address("registryprofile_register"), {"name": "secret", "kind": "txt", "encryption_key": key})
    profile = RegistryProfile.objects.get()
    pages = [
        read_text(client.get(url))
        for url in (
            address("registryprofile_change", profile.pk),
            address("registryprofile_edit", profile.pk),
        )
    ]

    assert profile.encryption_key == key
    assert not [page for page in pages if key in page]


def test_an_owner_is_registered_with_where_it_runs() -> None:
    cluster = make_cluster()
    client = sign_in(make_administrator())

    client.post(
        address("owner_register"),
        {
            "owner_id": "green-cluster",
            "status": "registered",
            "policy": "upsert-only",
            "cluster": cluster.pk,
            "name_patterns": "green.example.org, shop.example.org\nshop.example.org",
        },
    )

    owner = Owner.objects.get()
    assert (owner.owner_id, owner.instances.get().cluster) == ("green-cluster", cluster)
    assert owner.name_patterns == ["green.example.org", "shop.example.org"]
    actions = AuditEntry.objects.order_by("sequence").values_list("action", flat=True)
    assert list(actions) == ["owner.registered", "instance.registered"]


@pytest.mark.parametrize("noun", ["provider", "owner", "cluster", "registryprofile"])
def test_only_an_administrator_changes_configuration(noun: str) -> None:
    make_provider()
    make_owner()
    make_cluster()
    RegistryProfile.objects.create(name="default")
    client = sign_in(make_user("alice"))
    row = client.get(address(f"{noun}_changelist")).context["cl"].result_list[0]
    values = {**PROVIDER_FORM, "owner_id": "x", "status": "registered", "policy": "sync", "kind": "txt"}

    registered = client.post(address(f"{noun}_register"), {**values, "name": "another"})
    changed = client.post(address(f"{noun}_edit", row.pk), values)

    assert (registered.status_code, changed.status_code) == (403, 403)
    assert type(row).objects.count() == 1
    assert not AuditEntry.objects.exists()
    assert address(f"{noun}_register") not in read_text(client.get(address(f"{noun}_changelist")))


def test_a_cluster_and_a_store_in_it_are_registered_and_no_secret_is_shown() -> None:
    provider = make_provider()
    client = sign_in(make_administrator())

    client.post(
        address("cluster_register"), {"name": "blue", "api_url": "https://192.0.2.1:6443", "token": SECRET}
    )
    cluster = Cluster.objects.get()
    form = {"name": "maps", "kind": "configmap", "cluster": cluster.pk, "namespace": "dns"}
    response = client.post(
        address("registryprofile_register"), {**form, "providers": [provider.pk]}, follow=True
    )
    pages = [
        read_text(response),
        read_text(client.get(address("cluster_change", cluster.pk))),
        read_text(client.get(address("cluster_edit", cluster.pk))),
        read_text(client.get(address("registryprofile_edit", RegistryProfile.objects.get().pk))),
    ]

    assert response.status_code == 200
    assert cluster.token == SECRET
    assert "Test connection" in pages[0]
    assert not [page for page in pages if SECRET in page]


def test_a_store_without_its_place_is_told_beside_the_field() -> None:
    client = sign_in(make_administrator())

    response = client.post(address("registryprofile_register"), {"name": "table", "kind": "dynamodb"})

    assert response.status_code == 422
    assert {"table", "region"} <= set(response.context["form"].errors)
    assert not RegistryProfile.objects.exists()


def test_the_form_of_a_new_owner_registers_it() -> None:
    client = sign_in(make_administrator())
    form = client.get(address("owner_register")).context["form"]

    client.post(
        address("owner_register"),
        {"owner_id": "parked", "policy": form["policy"].value(), "status": form["status"].value()},
    )

    assert Owner.objects.get(owner_id="parked").status == Owner.Status.REGISTERED


def test_a_provider_is_deleted_after_a_page_that_says_what_goes() -> None:
    client = sign_in(make_administrator())
    provider = make_provider()

    page = read_text(client.get(address("provider_remove", provider.pk)))
    done = client.post(address("provider_remove", provider.pk), {}, follow=True)
    gone = client.get(address("provider_change", provider.pk), follow=True)

    assert "Nothing changes at the provider" in page
    assert "Deleted." in read_text(done)
    assert not Provider.objects.exists()
    assert "There is no provider" in read_text(gone) or gone.status_code == 404


def test_the_page_says_what_prevents_a_deletion_and_offers_no_button() -> None:
    client = sign_in(make_administrator())
    owner = make_owner()
    make_record_set(make_provider(), owner=owner)

    page = read_text(client.get(address("owner_remove", owner.pk)))
    refused = client.post(address("owner_remove", owner.pk), {})

    assert "Used by 1 record set in the mirror" in page
    assert "dn-danger" not in page
    assert refused.status_code == 409
    assert Owner.objects.exists()


def test_decommissioning_offers_to_transfer_to_release_and_to_leave() -> None:
    client = sign_in(make_administrator())
    owner = make_owner("blue-cluster")
    make_record_set(make_provider("blue-zone"), owner=owner)
    form = client.get(address("owner_edit", owner.pk)).context["form"]
    typed = {field.name: field.value() or "" for field in form}

    by_form = client.post(address("owner_edit", owner.pk), {**typed, "status": "decommissioned"})
    page = read_text(client.get(address("owner_decommission", owner.pk)))
    client.post(address("owner_decommission", owner.pk), {})

    assert by_form.status_code == 409
    assert "1 record set (1 at blue-zone)" in page
    assert all(word in page for word in ("kind=transfer", "kind=release", "Decommission and leave them"))
    owner.refresh_from_db()
    assert owner.status == Owner.Status.DECOMMISSIONED


def test_a_registry_in_the_database_is_registered_and_says_that_it_is_not_exported() -> None:
    client = sign_in(make_administrator())
    provider = make_provider()
    form = {"name": "in the database", "kind": "database", "prefix": "own."}

    homeless = client.post(address("registryprofile_register"), form)
    client.post(address("registryprofile_register"), {**form, "providers": [provider.pk]})
    row = RegistryProfile.objects.get()
    page = read_text(client.get(address("registryprofile_change", row.pk)))

    assert "exactly one provider" in read_text(homeless)
    assert "Database (behind the guard)" in page
    assert "own." in page
    assert "There is no scheduled export" in page
