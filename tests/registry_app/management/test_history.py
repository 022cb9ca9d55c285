"""`dnsadmin_history`: what a provider had at a moment, and what differs between two."""

from datetime import timedelta

import pytest

from registry_app.clock import fetch_now
from tests.factories import make_provider
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.management.command import run_command, run_json
from tests.registry_app.reconcile.changing_zone import show
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db


def test_a_moment_and_what_differs_since_are_shown() -> None:
    zone = make_zone("blue-cluster", 10)
    with ReferenceProvider(zone) as reference:
        provider = make_provider("zone", url=reference.url)
        sync(provider)
        before = fetch_now().isoformat()
        show(reference, [*zone[2:], make_record(), make_claim(owner="green-cluster")])
        sync(provider)

    _, then = run_json("dnsadmin_history", "at", before, "--provider", "zone")
    code, changes = run_json("dnsadmin_history", "diff", before, "--provider", "zone")
    _, text = run_command(
        "dnsadmin_history", "diff", before, "--provider", "zone", "--owner", "green-cluster"
    )
    unchanged, nothing = run_json("dnsadmin_history", "diff", before, before, "--provider", "zone")

    assert [row["name"] for row in then] == [f"app-{number:05d}.example.org" for number in range(10)]
    assert {row["owner"] for row in then} == {"blue-cluster"}
    assert code == 2
    assert [(row["name"], row["before"] is None, row["writers"]) for row in changes] == [
        ("app-00000.example.org", False, ["blue-cluster"]),
        ("www.example.org", True, ["green-cluster"]),
    ]
    assert text.startswith("www.example.org A  not there -> green-cluster: 192.0.2.1  (")
    assert (unchanged, nothing) == (0, [])


def test_what_cannot_be_read_is_named() -> None:
    make_provider("zone")
    tomorrow = (fetch_now() + timedelta(days=1)).isoformat()

    code, text = run_command("dnsadmin_history", "at", "yesterday", "--provider", "zone")
    late, told = run_command("dnsadmin_history", "at", tomorrow, "--provider", "zone")

    assert (code, late) == (1, 1)
    assert "'yesterday' is no moment." in text
    assert "still to come" in told
