"""`dnsadmin_guard`: guard endpoints from the shell, with the rights of the person who is named."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.inventory.guard_endpoint import verify_credential
from registry_app.models import AuditEntry, GuardEndpoint
from tests.factories import (
    make_administrator,
    make_desired_set,
    make_guard_endpoint,
    make_instance,
    make_owner,
    make_provider,
    make_user,
)
from tests.registry_app.management.command import run_command, run_json

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _people() -> None:
    make_administrator("alice")
    make_user("bob")


def test_a_guard_endpoint_is_registered_and_listed() -> None:
    make_provider("blue-zone")
    make_instance(make_owner("blue-cluster"), "east")
    settings = ("--network", "192.0.2.0/24", "--network", "2001:db8::/32", "--deadline-seconds", "20")

    code, row = run_json(
        *("dnsadmin_guard", "register", "blue", "--provider", "blue-zone", "--owner", "blue-cluster"),
        *(*settings, "--as", "alice"),
    )
    listed = run_command("dnsadmin_guard", "list")

    assert code == 0
    assert (row["slug"], row["mode"], row["instance"], row["desired_set"]) == (
        "blue",
        "observe",
        "east",
        None,
    )
    assert (row["networks"], row["deadline_seconds"]) == (["192.0.2.0/24", "2001:db8::/32"], 20)
    assert listed == (0, "blue  observe  east of blue-cluster at blue-zone  posted nothing yet\n")
    assert AuditEntry.objects.get(action="guard_endpoint.registered").actor_name == "alice"


def test_of_several_instances_one_must_be_named() -> None:
    make_provider("blue-zone")
    owner = make_owner("blue-cluster")
    make_instance(owner, "east")
    make_instance(owner, "west")
    asked = ("dnsadmin_guard", "register", "blue", "--provider", "blue-zone", "--as", "alice")

    several = run_command(*asked, "--owner", "blue-cluster")
    unknown = run_command(*asked, "--owner", "blue-cluster", "--instance", "north")
    nobody = run_command(*asked, "--owner", "green-cluster")
    named = run_command(*asked, "--owner", "blue-cluster", "--instance", "west")

    assert [each[0] for each in (several, unknown, nobody, named)] == [1, 1, 1, 0]
    assert "--instance: Name one of east, west." in several[1]
    assert GuardEndpoint.objects.get().instance.name == "west"


def test_the_list_says_what_is_known_and_what_is_stale() -> None:
    blue = make_guard_endpoint(slug="blue")
    green_zone = make_provider("green-zone", url="http://127.0.0.1:8")
    green = make_guard_endpoint(make_instance(make_owner("green-cluster"), "green"), green_zone, slug="green")
    make_desired_set(blue, "www.example.org", set_aside=2)
    make_desired_set(green, last_seen_at=timezone.now() - timedelta(hours=1))

    text = run_command("dnsadmin_guard", "list")[1]
    by_owner = run_json("dnsadmin_guard", "list", "--owner", "green-cluster")[1]
    by_provider = run_json("dnsadmin_guard", "list", "--provider", "blue-zone")[1]
    none = run_command("dnsadmin_guard", "list", "--owner", "nobody")

    assert "1 endpoint, 2 unreadable, posted" in text
    assert text.count(", stale") == 1
    assert [row["desired_set"]["is_stale"] for row in by_owner["guard_endpoints"]] == [True]
    assert [row["slug"] for row in by_provider["guard_endpoints"]] == ["blue"]
    assert none == (0, "There is none.\n")


def test_what_an_instance_wants_is_shown_and_narrowed() -> None:
    row = make_guard_endpoint(slug="blue")
    make_desired_set(row, "www.example.org", "api.example.net", "a\u202eb.example.net")

    code, document = run_json("dnsadmin_guard", "desired", "blue")
    text = run_command("dnsadmin_guard", "desired", "blue", "--name-suffix", "Example.org.")[1]
    narrowed = run_json("dnsadmin_guard", "desired", "blue", "--type", "aaaa,mx")[1]

    assert code == 0
    assert [each["name"] for each in document["endpoints"]] == [
        "api.example.net",
        "a\u202eb.example.net",
        "www.example.org",
    ]
    assert document["guard_endpoint"]["desired_set"]["endpoint_count"] == 3
    assert "  www.example.org A  192.0.2.1  since" in text
    assert "example.net" not in text
    assert "\u202e" not in run_command("dnsadmin_guard", "desired", "blue")[1]
    assert narrowed["endpoints"] == []


def test_the_mode_is_changed_with_a_reason() -> None:
    make_guard_endpoint(slug="blue")

    changed = run_json(
        *("dnsadmin_guard", "mode", "blue", "paused", "--reason", "The zone moves.", "--as", "alice")
    )
    unknown = run_command("dnsadmin_guard", "mode", "green", "paused", "--as", "alice")

    assert (changed[0], changed[1]["mode"]) == (0, "paused")
    assert AuditEntry.objects.get().reason == "The zone moves."
    assert (unknown[0], "There is no guard endpoint 'green'." in unknown[1]) == (1, True)


def test_a_password_is_printed_once_and_removed() -> None:
    make_guard_endpoint(slug="blue")

    issued = run_json("dnsadmin_guard", "credential", "blue", "--as", "alice")[1]
    stored = GuardEndpoint.objects.get()
    again = run_command("dnsadmin_guard", "credential", "blue", "--username", "b.c", "--as", "alice")
    bad = run_command("dnsadmin_guard", "credential", "blue", "--username", "b:c", "--as", "alice")
    removed = run_command("dnsadmin_guard", "credential", "blue", "--remove", "--as", "alice")

    assert verify_credential(stored, issued["username"], issued["password"])
    assert (again[0], "User name: b.c" in again[1], "ExternalDNS writes both" in again[1]) == (0, True, True)
    assert (bad[0], "--username: " in bad[1]) == (1, True)
    assert (removed[0], GuardEndpoint.objects.get().username) == (0, "")


def test_who_may_not_changes_nothing() -> None:
    row = make_guard_endpoint(slug="blue")
    owner = row.instance.owner
    make_instance(owner, "spare")
    register = (
        "register",
        "new",
        "--provider",
        "blue-zone",
        "--owner",
        owner.owner_id,
        "--instance",
        "spare",
    )

    for arguments in (register, ("mode", "blue", "paused"), ("credential", "blue")):
        code, text = run_command("dnsadmin_guard", *arguments, "--as", "bob")
        assert (code, "bob may not change guard endpoints" in text) == (1, True), arguments

    assert list(GuardEndpoint.objects.values_list("slug", "mode", "username")) == [("blue", "observe", "")]


def test_a_refusal_names_the_options() -> None:
    row = make_guard_endpoint(slug="blue")
    make_instance(row.instance.owner, "spare")
    asked = ("dnsadmin_guard", "register", "--provider", "blue-zone", "--owner", "blue-cluster")

    code, document = run_json(
        *(*asked, "records", "--instance", "spare", "--network", "here", "--as", "alice")
    )

    assert code == 1
    assert sorted(document["error"]["fields"]) == ["--network", "SLUG"]
