"""Error pages say what happened, what is true now, what to do, and the request's id."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from dnsadmin.urls import answer_failure
from tests.factories import make_administrator, make_user
from tests.registry_app.admin.world import address, read_text, sign_in

pytestmark = pytest.mark.django_db

NAVIGATION = 'id="nav-sidebar"'


def test_an_address_that_is_not_there_keeps_the_way_to_the_others() -> None:
    client = sign_in(make_user("dora"))

    response = client.get("/admin/registry_app/nowhere/")

    page = read_text(response)
    assert response.status_code == 404
    assert "Page not found" in page
    assert "Nothing was changed." in page
    assert re.search("Request <code>[0-9a-f-]{36}</code>", page)
    assert NAVIGATION in page


def test_a_row_that_is_not_there_is_named() -> None:
    client = sign_in(make_user("dora"))

    response = client.get(address("transfer_change", 987_654))

    assert "There is no transfer 987654." in read_text(response)


def test_no_page_tells_the_addresses_there_are() -> None:
    client = sign_in(make_user("dora"))

    response = client.get("/nowhere")

    assert response.status_code == 404
    assert "api/v1" not in read_text(response)


def test_who_may_not_is_told_so_inside_the_theme() -> None:
    client = sign_in(make_user("dora"))

    response = client.get(reverse("admin:auth_user_changelist"))

    page = read_text(response)
    assert response.status_code == 403
    assert "You may not do this" in page
    assert NAVIGATION in page


def test_a_form_of_another_session_has_expired() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_administrator())

    response = client.post(address("freeze_start"), {"reason": "Change stop."})

    page = read_text(response)
    assert response.status_code == 403
    assert "This form has expired" in page
    assert "Nothing was changed." in page
    assert "CSRF" not in page


def test_who_is_not_signed_in_gets_a_page_without_navigation() -> None:
    page = read_text(Client().get("/nowhere"))

    assert "Page not found" in page
    assert NAVIGATION not in page


def test_somebody_without_staff_status_gets_a_page_without_navigation() -> None:
    mallory = make_user("mallory")
    User.objects.filter(pk=mallory.pk).update(is_staff=False)

    page = read_text(sign_in(mallory).get("/nowhere"))

    assert NAVIGATION not in page


def test_a_filter_that_does_not_exist_is_refused_in_words() -> None:
    client = sign_in(make_user("dora"))

    response = client.get(address("recordset_changelist"), {"bogus": "1"})

    assert response.status_code == 400
    assert "This request is not valid" in read_text(response)


def test_too_many_wrong_passwords_say_how_long_to_wait() -> None:
    client = Client()

    for _ in range(5):
        response = client.post(reverse("admin:login"), {"username": "alice", "password": "wrong"})

    page = read_text(response)
    assert response.status_code == 429
    assert "for 15 min" in page
    assert "dnsadmin_unlock NAME" in page


def test_a_host_name_that_is_not_ours_names_the_setting() -> None:
    response = Client().get("/admin/login/", headers={"host": "evil.example.com"})

    assert response.status_code == 400
    assert "DNSADMIN_ALLOWED_HOSTS" in read_text(response)
    assert "evil.example.com" not in read_text(response)


def test_a_page_that_fails_asks_the_database_nothing() -> None:
    request = RequestFactory().get("/admin/")

    with CaptureQueriesContext(connection) as captured:
        response = answer_failure(request)

    assert response.status_code == 500
    assert "This page failed" in read_text(response)
    assert len(captured) == 0


def _lose_the_database(*_statement: object) -> None:
    raise OperationalError("server closed the connection unexpectedly: host=db.internal")


def test_a_page_without_its_database_says_so_and_when_to_come_back() -> None:
    client = sign_in(make_user("dora"))
    client.raise_request_exception = False

    with connection.execute_wrapper(_lose_the_database):
        response = client.get(address("recordset_changelist"))

    page = read_text(response)
    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert "The database does not respond" in page
    assert "db.internal" not in page


def test_a_program_with_a_session_gets_a_problem_where_the_database_is_lost() -> None:
    client = sign_in(make_user("dora"))
    client.raise_request_exception = False

    with connection.execute_wrapper(_lose_the_database):
        response = client.get("/api/v1/providers/")

    assert response.status_code == 503
    assert response["Content-Type"] == "application/problem+json"
    assert int(response["Retry-After"]) > 0
    assert response.json()["code"] == "database_unavailable"
    assert "db.internal" not in response.content.decode()
