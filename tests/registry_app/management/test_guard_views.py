"""A guard endpoint with a view of its own, by command."""

import pytest

from tests.factories import make_administrator, make_instance, make_owner, make_provider
from tests.registry_app.management.command import run_command, run_json

pytestmark = pytest.mark.django_db
ASKED = ("dnsadmin_guard", "register", "blue", "--provider", "blue-zone", "--owner", "blue-cluster")


@pytest.fixture(autouse=True)
def _administrator() -> None:
    make_administrator("alice")


def test_a_guard_endpoint_is_registered_with_a_view() -> None:
    make_provider("blue-zone")
    make_instance(make_owner("blue-cluster", name_patterns=["blue.example.org"]))

    code, row = run_json(*ASKED, "--own-view", "--as", "alice")

    assert (code, row["has_own_view"]) == (0, True)


def test_a_view_of_everything_names_the_option() -> None:
    make_provider("blue-zone")
    make_instance(make_owner("blue-cluster"))

    code, text = run_command(*ASKED, "--own-view", "--as", "alice")

    assert code == 1
    assert "--own-view" in text
