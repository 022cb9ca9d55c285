"""`dnsadmin_guard`: what was decided, and held deletes released and kept, from the shell."""

import pytest

from registry_app.models import AuditEntry, GuardCount, GuardEndpoint, HeldDelete
from tests.factories import (
    make_administrator,
    make_guard_decision,
    make_guard_endpoint,
    make_held_delete,
    make_instance,
    make_owner,
    make_provider,
    make_user,
)
from tests.registry_app.management.command import run_command, run_json

pytestmark = pytest.mark.django_db
_GUARD = "dnsadmin_guard"


@pytest.fixture(autouse=True)
def _people() -> None:
    make_administrator("alice")
    make_user("bob")


@pytest.fixture
def blue() -> GuardEndpoint:
    return make_guard_endpoint(slug="blue")


def _make_green() -> GuardEndpoint:
    provider = make_provider("green-zone", url="http://127.0.0.1:8")
    return make_guard_endpoint(make_instance(make_owner("green-cluster")), provider, slug="green")


def _statuses() -> dict[str, str]:
    return dict(HeldDelete.objects.order_by("name").values_list("name", "status"))


def test_a_guard_endpoint_is_registered_with_its_rules() -> None:
    make_provider("blue-zone")
    make_instance(make_owner("blue-cluster"))
    rules = ("--delete-percent", "10", "--most-deletes", "20", "--window-seconds", "600", "--refuses-batch")
    where = ("--provider", "blue-zone", "--owner", "blue-cluster", "--as", "alice")

    refused = run_json(_GUARD, "register", "blue", *where, "--shared-name", "a..b")
    code, row = run_json(_GUARD, "register", "blue", *where, *rules, "--shared-name", "Example.org")

    assert code == 0
    assert (row["delete_percent"], row["most_deletes"], row["window_seconds"]) == (10, 20, 600)
    assert (row["refuses_batch"], row["shared_names"]) == (True, ["example.org"])
    assert (refused[0], list(refused[1]["error"]["fields"])) == (1, ["--shared-name"])


def test_decisions_are_listed_with_their_counts(blue: GuardEndpoint) -> None:
    GuardCount.objects.create(guard_endpoint=blue, outcome="refused", rule="not_owner", count=7)
    make_guard_decision(blue, set_identifier="eu", count=7)
    make_guard_decision(blue, "api.example.net", outcome="would_hold", rule="delete_all")
    make_guard_decision(_make_green(), "green.example.org")

    code, text = run_command(_GUARD, "decisions", "blue", "--name-suffix", "Example.org")
    document = run_json(_GUARD, "decisions", "blue")[1]
    narrowed = run_json(_GUARD, "decisions", "blue", "--rule", "delete_all", "--outcome", "would_hold")[1]
    nothing = run_command(_GUARD, "decisions", "green", "--rule", "frozen")

    assert code == 0
    lines = text.splitlines()
    assert lines[:2] == ["mode observe", "  refused  not_owner  7 times"]
    assert lines[2].startswith(
        "www.example.org (eu)  refused  not_owner  delete A  It is owned by green-cluster.  7 times, last "
    )
    assert len(lines) == 3
    assert document["counts"] == [{"outcome": "refused", "rule": "not_owner", "count": 7}]
    assert {each["name"] for each in document["decisions"]} == {"www.example.org", "api.example.net"}
    assert [each["name"] for each in narrowed["decisions"]] == ["api.example.net"]
    assert nothing == (0, "mode observe\n  Nothing was refused or held.\n")


def test_held_deletes_are_listed(blue: GuardEndpoint) -> None:
    row = make_held_delete(blue)
    make_held_delete(blue, "api.example.org", status="kept", decided_by="alice")
    make_held_delete(blue, "old.example.org", status="deleted")
    make_held_delete(_make_green(), "green.example.org", rule="first_contact")

    text = run_command(_GUARD, "held", "blue")[1]
    every = run_json(_GUARD, "held", "--status", "all")[1]["held_deletes"]
    kept = run_json(_GUARD, "held", "--status", "kept")[1]["held_deletes"]
    first = run_json(_GUARD, "held", "--rule", "first_contact")[1]["held_deletes"]

    assert f"{row.pk}  blue  www.example.org  A  held  delete_share  It would have deleted" in text
    assert "api.example.org  A  kept  by alice" in text
    assert len(text.splitlines()) == 2
    assert len(every) == 4
    assert [each["name"] for each in kept] == ["api.example.org"]
    assert [each["guard_endpoint"] for each in first] == ["green"]
    assert run_command(_GUARD, "held", "blue", "--name-suffix", "net")[1] == "There is none.\n"


def test_held_deletes_are_released_and_kept(blue: GuardEndpoint) -> None:
    rows = [make_held_delete(blue, f"{letter}.example.org") for letter in "abcd"]

    by_id = run_json(_GUARD, "keep", "--id", str(rows[0].pk), "--id", str(rows[1].pk), "--as", "alice")
    below = run_command(_GUARD, "release", "blue", "--name-suffix", "c.example.org", "--as", "alice")
    everything = run_command(
        *(_GUARD, "release", "blue", "--all", "--reason", "The shop is closed.", "--as", "alice")
    )

    assert by_id == (0, {"status": "kept", "count": 2, "names": ["a.example.org", "b.example.org"]})
    assert below[1].splitlines() == [
        "1 released.",
        "  c.example.org",
        "Nothing was sent. The instance deletes what is released at its next sync.",
    ]
    assert everything[1].startswith("3 released.\n")
    assert set(_statuses().values()) == {"released"}
    entry = AuditEntry.objects.get(reason="The shop is closed.")
    assert (entry.actor_name, entry.actor_kind) == ("alice", "command")


def test_what_is_meant_must_be_said(blue: GuardEndpoint) -> None:
    row = make_held_delete(blue)

    for arguments, option in (
        ((), "--id"),
        (("blue",), "--all"),
        (("blue", "--all", "--name-suffix", "example.org"), "--all"),
        (("blue", "--id", str(row.pk)), "--id"),
        (("--id", str(row.pk), "--name-suffix", "example.org"), "--name-suffix"),
    ):
        code, document = run_json(_GUARD, "release", *arguments, "--as", "alice")
        assert (code, list(document["error"]["fields"])) == (1, [option]), arguments
    assert _statuses() == {"www.example.org": "held"}


def test_who_may_not_operate_decides_nothing(blue: GuardEndpoint) -> None:
    make_held_delete(blue)

    for act in ("release", "keep"):
        code, text = run_command(_GUARD, act, "blue", "--all", "--as", "bob")
        assert (code, "bob may not decide on deletes of blue-cluster" in text) == (1, True)
    assert _statuses() == {"www.example.org": "held"}
