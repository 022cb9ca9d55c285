"""Every screen answers: empty and full, to those who may look, and to nobody else."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from registry_app.models import Transfer
from tests.factories import make_administrator, make_user
from tests.registry_app.admin.world import FORMS, NOUNS, address, make_one_of_each, read_text, sign_in

pytestmark = pytest.mark.django_db


def test_an_empty_list_says_why_it_is_empty() -> None:
    client = sign_in(make_administrator())
    for noun in NOUNS:
        response = client.get(address(f"{noun}_changelist"))

        assert response.status_code == 200, noun
        assert 'class="dn-empty"' in read_text(response), noun
        assert "Nothing is here yet." not in read_text(response), noun


def test_a_list_and_the_page_of_its_row_answer() -> None:
    root = make_administrator()
    make_one_of_each(1, root)
    client = sign_in(root)
    for noun in NOUNS:
        shown = client.get(address(f"{noun}_changelist"))
        rows = list(shown.context["cl"].result_list)
        page = client.get(address(f"{noun}_change", rows[0].pk))

        assert shown.status_code == 200, noun
        assert rows, noun
        assert page.status_code == 200, noun


def test_a_form_opens() -> None:
    client = sign_in(make_administrator())
    for name in FORMS:
        response = client.get(address(name))

        assert response.status_code == 200, name
        assert "csrfmiddlewaretoken" in read_text(response), name


def test_the_address_where_django_adds_a_row_leads_to_the_form() -> None:
    client = sign_in(make_administrator())
    for noun in NOUNS:
        response = client.get(address(f"{noun}_add"))

        if response.status_code == 302:
            assert client.get(response.headers["Location"]).status_code == 200, noun
        else:
            assert response.status_code == 404, noun
            # Held deletes have forms, for rows that are there.
            assert noun == "helddelete" or not any(name.startswith(f"{noun}_") for name in FORMS), noun


def test_nobody_who_is_not_signed_in_sees_anything() -> None:
    for name in (*(f"{noun}_changelist" for noun in NOUNS), *FORMS):
        response = Client().get(address(name))

        assert response.status_code == 302, name
        assert response.headers["Location"].startswith(reverse("admin:login")), name


def test_somebody_without_staff_status_sees_nothing() -> None:
    mallory = make_user("mallory")
    User.objects.filter(pk=mallory.pk).update(is_staff=False)
    client = sign_in(mallory)

    response = client.get(address("recordset_changelist"))

    assert response.status_code == 302


def test_a_row_that_is_not_there_is_not_found() -> None:
    client = sign_in(make_administrator())
    for noun in NOUNS:
        response = client.get(address(f"{noun}_change", 987_654))

        assert response.status_code == 404, noun


@pytest.mark.deep
def test_nothing_is_added_or_deleted_through_the_stock_forms() -> None:
    root = make_administrator()
    make_one_of_each(1, root)
    client = sign_in(root)
    for noun in NOUNS:
        row = client.get(address(f"{noun}_changelist")).context["cl"].result_list[0]

        added = client.post(address(f"{noun}_add"), {"name": "x"})
        deleted = client.post(address(f"{noun}_delete", row.pk), {"post": "yes"})

        assert (added.status_code, deleted.status_code) == (403, 403), noun
        assert type(row).objects.filter(pk=row.pk).exists(), noun


def test_a_transfer_is_found_by_the_id_the_api_uses() -> None:
    root = make_administrator()
    make_one_of_each(1, root)
    public_id = Transfer.objects.get().public_id

    response = sign_in(root).get(address("transfer_change", public_id))

    assert response.status_code == 200


@pytest.mark.parametrize("url", ["/admin/registry_app/", "/admin/search/?s=owner"])
def test_what_the_theme_adds_answers_too(url: str) -> None:
    client = sign_in(make_administrator())

    response = client.get(url)

    assert response.status_code == 200


def test_users_and_groups_stand_in_the_same_theme() -> None:
    client = sign_in(make_administrator())

    pages = [client.get(reverse(f"admin:auth_{noun}_changelist")) for noun in ("user", "group")]

    assert [page.status_code for page in pages] == [200, 200]
    assert all("dnsadmin/admin.css" in read_text(page) for page in pages)
