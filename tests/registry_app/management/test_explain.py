"""`dnsadmin_explain`: everything that is known of a name."""

import pytest

from registry_app.clock import fetch_now
from registry_app.models import Freeze
from tests.factories import (
    make_contention,
    make_desired_set,
    make_guard_decision,
    make_guard_endpoint,
    make_held_delete,
    make_instance,
    make_owner,
    make_provider,
    make_user,
)
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.management.command import run_command, run_json
from tests.registry_app.reconcile.changing_zone import show
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db

WWW = "www.example.org"


@pytest.fixture(autouse=True)
def _alice() -> None:
    make_user("alice")


def test_what_is_at_a_name_and_all_that_is_about_it() -> None:
    around = make_zone("blue-cluster", 20)
    with ReferenceProvider(
        [*around, make_record(WWW, "AAAA", ("2001:db8::1",)), make_claim(WWW)]
    ) as reference:
        provider = make_provider("zone", url=reference.url)
        make_provider("elsewhere")
        sync(provider)
        before = fetch_now().isoformat()
        show(reference, [*around, make_record(WWW), make_claim(WWW), make_record(WWW, "TXT", ('"other"',))])
        sync(provider)
    guard = make_guard_endpoint(make_instance(make_owner("green-cluster")), provider)
    make_desired_set(guard, WWW)
    for make in (make_held_delete, make_guard_decision):
        make(guard, WWW)
    make_contention(provider, WWW)
    Freeze.objects.create(provider=provider, names=[WWW], reason="change stop", starts_at=fetch_now())

    _, found = run_json("dnsadmin_explain", "WWW.Example.org.", "--at", before, "--as", "alice")
    code, text = run_command("dnsadmin_explain", WWW, "--at", before, "--as", "alice")

    assert (code, found["name"]) == (0, WWW)
    (zone,) = found["providers"]
    (a, txt, gone) = (
        next(each for each in zone["record_sets"] if each["record_type"] == kind)
        for kind in ("A", "TXT", "AAAA")
    )
    assert (a["owner"], a["claims"][0]["verdict"], txt["owner"]) == ("blue-cluster", "effective", None)
    assert gone["missing_since"] is not None
    assert [each["kind"] for each in gone["history"]] == ["vanished"]
    assert [(each["record_type"], each["targets"]) for each in zone["then"]] == [("AAAA", ["2001:db8::1"])]
    assert len(zone["freezes"]) == len(found["wanted"]) == len(found["contention"]) == 1
    assert len(found["held_deletes"]) == len(found["decisions"]) == 1
    for words in (
        "at zone:",
        "blue-cluster",
        "wanted by green-cluster",
        "change stop",
        "then: AAAA 2001:db8::1",
    ):
        assert words in text


def test_a_name_of_which_nothing_is_known_and_one_that_is_none() -> None:
    make_provider("zone")

    code, text = run_command("dnsadmin_explain", "nothing.example.org", "--as", "alice")
    refused, told = run_command("dnsadmin_explain", "x" * 300, "--as", "alice")

    assert (code, text) == (0, "nothing.example.org\n  No provider has or had anything there.\n")
    assert (refused, "That is no DNS name." in told) == (1, True)
