"""People are added so that they can log in, with the groups that say what they may do."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from tests.factories import make_administrator
from tests.registry_app.admin.world import read_text, sign_in

pytestmark = pytest.mark.django_db

PASSWORD = "correct-horse-battery"


def test_a_new_user_can_log_in_and_has_their_groups() -> None:
    blue = Group.objects.create(name="team-blue")
    client = sign_in(make_administrator())
    form = reverse("admin:auth_user_add")

    offered = client.get(form).context["adminform"].form.initial
    client.post(
        form,
        {
            "username": "alice",
            "usable_password": "true",
            "password1": PASSWORD,
            "password2": PASSWORD,
            "is_staff": "on" if offered["is_staff"] else "",
            "groups": [blue.pk],
        },
    )
    answer = Client().post(reverse("admin:login"), {"username": "alice", "password": PASSWORD})

    assert list(User.objects.get(username="alice").groups.all()) == [blue]
    assert answer.status_code == 302


@pytest.mark.parametrize("noun", ["user", "group"])
def test_permissions_that_nothing_asks_for_are_not_offered(noun: str) -> None:
    root = make_administrator()
    blue = Group.objects.create(name="team-blue")
    row = {"user": root.pk, "group": blue.pk}[noun]

    page = read_text(sign_in(root).get(reverse(f"admin:auth_{noun}_change", args=[row])))

    assert "permissions" not in page.casefold()


def test_who_opened_the_login_page_itself_comes_to_the_dashboard() -> None:
    User.objects.create_user("alice", password=PASSWORD, is_staff=True)

    answer = Client().post(reverse("admin:login"), {"username": "alice", "password": PASSWORD})

    assert answer.headers["Location"] == reverse("admin:index")
