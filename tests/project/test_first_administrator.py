"""The first administrator gets a random password that is kept privately."""

import stat
from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.test import RequestFactory

from dnsadmin.first_administrator import create_first_administrator
from registry_app.models import AuditEntry

pytestmark = pytest.mark.one_database


@pytest.mark.django_db
def test_the_password_in_the_file_logs_in(tmp_path: Path) -> None:
    file = tmp_path / "admin-password"

    said = create_first_administrator(file)

    password = file.read_text().strip()
    user = authenticate(RequestFactory().get("/"), username="admin", password=password)
    assert user is not None
    assert password in said
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert AuditEntry.objects.get().action == "user.created"


@pytest.mark.django_db
def test_a_second_start_creates_nobody_and_does_not_repeat_the_password(tmp_path: Path) -> None:
    file = tmp_path / "admin-password"
    create_first_administrator(file)

    said = create_first_administrator(file)

    assert User.objects.count() == 1
    assert file.read_text().strip() not in said
    assert str(file) in said


@pytest.mark.django_db
def test_a_crash_between_file_and_user_is_healed_by_the_next_start(tmp_path: Path) -> None:
    file = tmp_path / "admin-password"
    file.write_text("left-behind-by-a-crash\n")

    create_first_administrator(file)

    user = authenticate(RequestFactory().get("/"), username="admin", password="left-behind-by-a-crash")
    assert user is not None


@pytest.mark.django_db
def test_where_somebody_administers_already_nothing_happens(tmp_path: Path) -> None:
    User.objects.create_superuser("dora", "", "a password of her own")

    said = create_first_administrator(tmp_path / "admin-password")

    assert said == ""
    assert not (tmp_path / "admin-password").exists()
