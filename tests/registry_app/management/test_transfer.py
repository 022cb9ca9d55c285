"""`dnsadmin_transfer`: the whole way of a transfer by hand, and the exit codes on it."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from providers.wire.change_set import ChangeSet
from registry_app.actor import SYSTEM
from registry_app.errors import DnsadminError
from registry_app.management.transfer import parse_fingerprints
from registry_app.models import AuditEntry, Provider, RecordSet, Transfer
from registry_app.reconcile.sync import sync_provider
from tests.factories import make_administrator, make_owner, make_provider, make_user
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.management.command import run_command, run_json

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

_EVERYTHING = ("--owner", "blue-cluster", "--to", "green-cluster", "--intent", "same", "--as", "alice")


@pytest.fixture
def zone() -> Iterator[ReferenceProvider]:
    with ReferenceProvider(make_zone("blue-cluster", 10)) as provider:
        yield provider


@pytest.fixture
def blue_zone(zone: ReferenceProvider) -> Provider:
    make_administrator("alice")
    make_administrator("bob")
    make_owner("green-cluster")
    provider = make_provider("blue-zone", url=zone.url, read_back_seconds=5, max_transfer_percent=100)
    sync_provider(provider.pk, actor=SYSTEM, trigger="person")
    return provider


def _request() -> dict[str, Any]:
    """A transfer of everything, requested by alice after a look at the plan."""
    _, planned = run_json("dnsadmin_transfer", "plan", *_EVERYTHING)
    plan = planned["plans"][0]
    code, requested = run_json(
        "dnsadmin_transfer",
        "request",
        *_EVERYTHING,
        "--reason=Green takes over.",
        f"--confirm={plan['confirmation_text']}",
        f"--fingerprint={plan['provider']['id']}={plan['fingerprint']}",
    )
    assert code == 0, requested
    transfer: dict[str, Any] = requested["transfers"][0]
    return transfer


def test_a_plan_shows_what_would_change_and_writes_nothing(
    zone: ReferenceProvider, blue_zone: Provider
) -> None:
    before = zone.zone_bytes()

    code, document = run_json("dnsadmin_transfer", "plan", *_EVERYTHING)
    text_code, text = run_command("dnsadmin_transfer", "plan", *_EVERYTHING)

    assert (code, text_code) == (2, 2)
    assert len(document["plans"][0]["items"]) == 10
    assert "10 to change" in text
    assert "owner=green-cluster" in text
    assert not Transfer.objects.exists()
    assert zone.zone_bytes() == before


def test_other_types_go_along_unless_they_are_to_be_left(
    zone: ReferenceProvider, blue_zone: Provider
) -> None:
    name = "app-00000.example.org"
    added = (make_record(name, "AAAA", ("2001:db8::1",)), make_claim(name, "AAAA"))
    zone.backend.apply(ChangeSet(create=added))
    sync_provider(blue_zone.pk, actor=SYSTEM, trigger="person")
    picked = (*_EVERYTHING, f"--name={name}", "--type=A")

    _, whole = run_command("dnsadmin_transfer", "plan", *picked)
    _, part = run_command("dnsadmin_transfer", "plan", *picked, "--leave-other-types")

    assert "AAAA (no_op, added: same name)" in whole
    assert "--confirm 'transfer 1 record set to green-cluster and leave 1 behind'" in part
    assert "It stays with blue-cluster, while other types at its name are transferred." in part


def test_types_and_states_are_given_one_by_one_or_together(
    zone: ReferenceProvider, blue_zone: Provider
) -> None:
    plan = ("dnsadmin_transfer", "plan", *_EVERYTHING, "--provider=blue-zone")

    _, together = run_json(*plan, "--type=a,AAAA", "--state=owned,conflict")
    _, one_by_one = run_json(*plan, "--type=A", "--type=AAAA", "--state=owned", "--state=conflict")
    _, other = run_json(*plan, "--type=MX")

    # One of the ten record sets is a CNAME.
    items = together["plans"][0]["items"]
    assert len(items) == 9
    assert {item["record_type"] for item in items} <= {"A", "AAAA"}
    assert together == one_by_one
    assert not other.get("plans")


def test_a_fingerprint_names_its_provider_by_name_too(blue_zone: Provider) -> None:
    fingerprints = parse_fingerprints(["blue-zone=abc"])

    assert fingerprints == parse_fingerprints([f"{blue_zone.pk}=abc"]) == {blue_zone.pk: "abc"}
    for text in ("blue-zone", "=abc", "blue-zone=", "nowhere=abc"):
        with pytest.raises(DnsadminError):
            parse_fingerprints([text])


def test_a_transfer_is_requested_approved_applied_and_undone(
    zone: ReferenceProvider, blue_zone: Provider
) -> None:
    before = zone.zone_bytes()
    transfer = _request()
    fingerprint = f"--fingerprint={transfer['plan_fingerprint']}"

    own, _ = run_command("dnsadmin_transfer", "approve", transfer["id"], fingerprint, "--as=alice")
    other, _ = run_command("dnsadmin_transfer", "approve", transfer["id"], fingerprint, "--as=bob")
    waiting, _ = run_command("dnsadmin_transfer", "show", transfer["id"])
    applied, document = run_json("dnsadmin_transfer", "apply", transfer["id"])

    assert (own, other, waiting, applied) == (1, 0, 2, 0)
    assert document["transfers"][0]["status"] == "verified"
    assert zone.zone_bytes() == before.replace(b"owner=blue-cluster", b"owner=green-cluster")
    entry = AuditEntry.objects.get(action="transfer.approved")
    assert (entry.actor_kind, entry.actor_name) == ("command", "bob")

    arguments = ("undo", transfer["id"], "--reason=Too early.", "--as=alice")
    code, text = run_command("dnsadmin_transfer", *arguments)
    if code == 3:
        code, text = run_command("dnsadmin_transfer", *arguments, *shlex.split(text.rsplit(": ", 1)[1]))
    assert code == 0, text
    undo = Transfer.objects.get(kind="undo")
    run_command(
        "dnsadmin_transfer",
        "approve",
        str(undo.public_id),
        f"--fingerprint={undo.plan_fingerprint}",
        "--as=bob",
    )
    code, _ = run_command("dnsadmin_transfer", "resume")
    assert code == 0
    assert zone.zone_bytes() == before


@pytest.mark.parametrize("sign", ["", "#"])
def test_a_transfer_is_found_by_the_number_the_web_admin_shows(blue_zone: Provider, sign: str) -> None:
    transfer = Transfer.objects.get(public_id=_request()["id"])

    code, document = run_json("dnsadmin_transfer", "show", f"{sign}{transfer.pk}")
    _, text = run_command("dnsadmin_transfer", "show", f"{sign}{transfer.pk}")

    assert code == 2
    assert document["transfers"][0]["id"] == str(transfer.public_id)
    assert text.startswith(f"#{transfer.pk}  {transfer.public_id}")


def test_an_unfinished_transfer_shows_its_items(blue_zone: Provider) -> None:
    transfer = _request()

    code, document = run_json("dnsadmin_transfer", "show", transfer["id"])
    _, text = run_command("dnsadmin_transfer", "show", transfer["id"])

    assert code == 2
    assert len(document["transfers"][0]["items"]) == 10
    assert "app-00000.example.org A" in text


@pytest.mark.parametrize(("act", "person"), [("reject", "bob"), ("cancel", "alice")])
def test_a_request_is_ended_before_anything_is_sent(
    zone: ReferenceProvider, blue_zone: Provider, act: str, person: str
) -> None:
    before = zone.zone_bytes()
    transfer = _request()

    first, _ = run_command("dnsadmin_transfer", act, transfer["id"], "--reason=No.", f"--as={person}")
    again, _ = run_command("dnsadmin_transfer", act, transfer["id"], "--reason=No.", f"--as={person}")
    run_command("dnsadmin_transfer", "apply", transfer["id"])

    assert (first, again) == (0, 1)
    assert zone.zone_bytes() == before


def test_what_safety_refuses_has_its_own_exit_code(blue_zone: Provider) -> None:
    Provider.objects.update(max_transfer_count=5)

    planned, _ = run_json("dnsadmin_transfer", "plan", *_EVERYTHING)
    requested, document = run_json("dnsadmin_transfer", "request", *_EVERYTHING, "--reason=All of it.")

    assert (planned, requested) == (3, 3)
    assert document["error"]["code"]
    assert not Transfer.objects.exists()


def test_a_person_without_the_right_is_refused(blue_zone: Provider) -> None:
    make_user("charlie")
    arguments = ["charlie" if word == "alice" else word for word in _EVERYTHING]

    code, document = run_json("dnsadmin_transfer", "request", *arguments, "--reason=Mine.")

    assert code == 1
    assert document["error"]["code"] == "not_allowed"
    assert not Transfer.objects.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "4711"],
        ["show", "00000000-0000-0000-0000-000000000000"],
        ["approve", "x", "--fingerprint=y", "--as=alice"],
        ["apply", "x"],
        ["resume", "x"],
        ["plan", "--owner=blue-cluster", "--to=green-cluster", "--as=nobody"],
        ["plan", "--to=green-cluster", "--as=alice"],
        ["plan", "--owner=nobody", "--to=green-cluster", "--as=alice"],
        ["plan", "--name=a..b", "--to=green-cluster", "--as=alice"],
        ["plan", "--names-from=/nonexistent", "--to=green-cluster", "--as=alice"],
        ["plan", "--owner=blue-cluster", "--provider=nowhere", "--to=green-cluster", "--as=alice"],
        ["request", *_EVERYTHING, "--reason=r", "--fingerprint=x"],
    ],
)
def test_what_makes_no_sense_is_an_error(blue_zone: Provider, arguments: list[str]) -> None:
    code, document = run_json("dnsadmin_transfer", *arguments)

    assert code == 1, document
    assert document["error"]["happened"]


def test_a_refusal_names_the_options_as_they_were_typed(blue_zone: Provider) -> None:
    reported = {
        " ".join(arguments): list(
            run_json("dnsadmin_transfer", "plan", *arguments, "--as=alice")[1]["error"]["fields"]
        )
        for arguments in (
            ("--owner=blue-cluster",),
            ("--owner=blue-cluster", "--to=nobody"),
            ("--to=green-cluster", "--claim=1"),
            ("--kind=clean_up", "--record-set=1"),
            ("--to=green-cluster", "--name=a..b"),
        )
    }

    assert list(reported.values()) == [["--to"], ["--to"], ["--claim"], ["--record-set"], ["--name"]], (
        reported
    )


def test_names_are_read_from_a_file_in_any_spelling(blue_zone: Provider, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("APP-00001.Example.ORG.\n\napp-00002.example.org\n")

    code, document = run_json(
        "dnsadmin_transfer", "plan", f"--names-from={names}", "--to=green-cluster", "--as=alice"
    )

    planned = [item["name"] for item in document["plans"][0]["items"]]
    assert code == 2
    assert planned == ["app-00001.example.org", "app-00002.example.org"]
    assert RecordSet.objects.filter(owner__owner_id="blue-cluster").count() == 10


def test_what_was_requested_without_a_fingerprint_is_printed_with_how_to_go_on(
    zone: ReferenceProvider, blue_zone: Provider
) -> None:
    Provider.objects.update(approval_policy="none")

    _, blind = run_command("dnsadmin_transfer", "request", *_EVERYTHING, "--reason=Green takes over.")
    transfer = Transfer.objects.get()
    command = blind.split("To approve it: ")[1].strip().replace("USER", "bob").split()
    approved, _ = run_command(*command)
    run_command("dnsadmin_transfer", "apply", str(transfer.pk))
    undo = ("undo", str(transfer.pk), "--as=alice", "--intent=not_wanted")
    unconfirmed, reported = run_command("dnsadmin_transfer", *undo, "--reason=Back.")
    planned, plan = run_json("dnsadmin_transfer", *undo, "--plan")
    seen = plan["plans"][0]
    confirm = f"--confirm={seen['confirmation_text']}"
    _, requested = run_json(
        "dnsadmin_transfer", *undo, "--reason=Back.", confirm, f"--fingerprint={seen['fingerprint']}"
    )

    assert transfer.status == "requested"
    assert approved == 0
    assert unconfirmed == 3
    assert "--confirm 'undo 10 record sets'" in reported
    assert (planned, seen["verdict_counts"]) == (2, {"delete": 10})
    assert requested["transfers"][0]["status"] == "approved"
