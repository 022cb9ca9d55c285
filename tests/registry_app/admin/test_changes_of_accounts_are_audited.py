"""Users, groups, passwords and lock-outs: each change is in the audit trail, from what to what, no secret."""

import json
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from registry_app.models import AuditEntry
from tests.factories import make_administrator
from tests.registry_app.admin.world import sign_in

pytestmark = pytest.mark.django_db

OLD, NEW = "correct-horse-battery", "staple-of-horses-4711"


def _last() -> AuditEntry:
    entry = AuditEntry.objects.first()
    assert entry is not None
    return entry


def _save(client: Client, user: User, **changes: Any) -> None:
    form = {
        "username": user.username,
        "email": user.email,
        "is_staff": "on",
        "is_active": "on",
        "date_joined_0": f"{user.date_joined:%Y-%m-%d}",
        "date_joined_1": f"{user.date_joined:%H:%M:%S}",
        **changes,
    }
    given = {name: value for name, value in form.items() if value is not None}
    answer = client.post(reverse("admin:auth_user_change", args=[user.pk]), given)
    assert answer.status_code == 302, answer.content


def test_rights_and_groups_are_told_from_what_to_what() -> None:
    blue = Group.objects.create(name="team-blue")
    alice = User.objects.create_user("alice", password=OLD, is_staff=True)
    client = sign_in(make_administrator())

    _save(client, alice, groups=[blue.pk], is_superuser="on")
    given = _last()
    _save(client, alice, is_active=None)
    taken = _last()

    assert given.action == "user.changed"
    assert given.before == {"is_superuser": False, "groups": []}
    assert given.after is not None
    assert (given.after["is_superuser"], given.after["groups"]) == (True, ["team-blue"])
    assert taken.before == {"is_superuser": True, "groups": ["team-blue"], "is_active": True}


def test_groups_are_told_when_they_are_renamed_and_deleted() -> None:
    blue = Group.objects.create(name="team-blue")
    client = sign_in(make_administrator())

    client.post(reverse("admin:auth_group_change", args=[blue.pk]), {"name": "team-cyan"})
    renamed = _last()
    client.post(reverse("admin:auth_group_delete", args=[blue.pk]), {"post": "yes"})
    deleted = _last()

    assert (renamed.action, renamed.before) == ("group.changed", {"name": "team-blue"})
    assert renamed.after is not None
    assert renamed.after["name"] == "team-cyan"
    assert deleted.action == "group.deleted"
    assert deleted.before is not None
    assert deleted.before["name"] == "team-cyan"


def test_an_own_password_change_is_told_and_the_password_is_not() -> None:
    alice = User.objects.create_user("alice", password=OLD, is_staff=True)
    client = sign_in(alice)
    form = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW}

    client.post(reverse("admin:password_change"), {**form, "old_password": "wrong"})
    assert not AuditEntry.objects.exists()
    client.post(reverse("admin:password_change"), form)

    entry = _last()
    alice.refresh_from_db()
    assert alice.check_password(NEW)
    assert (entry.action, entry.actor_name, entry.object_id) == (
        "user.password_changed",
        "alice",
        str(alice.pk),
    )
    reported = json.dumps([entry.before, entry.after, entry.reason])
    assert NEW not in reported
    assert alice.password not in reported


def test_taking_a_lock_out_away_is_told() -> None:
    values = {"username": "alice", "ip_address": "192.0.2.7", "failures_since_start": 5}
    first = AccessAttempt.objects.create(**values)
    client = sign_in(make_administrator())

    client.post(reverse("admin:axes_accessattempt_delete", args=[first.pk]), {"post": "yes"})
    by_page = _last()
    AccessAttempt.objects.create(**values)
    call_command("dnsadmin_unlock", "alice")
    by_command = _last()

    assert not AccessAttempt.objects.exists()
    for entry in (by_page, by_command):
        assert entry.action == "accessattempt.deleted"
        assert entry.before is not None
        assert entry.before["username"] == "alice"
    assert by_command.actor_kind == "command"
