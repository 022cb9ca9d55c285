"""`dnsadmin_loop`: the plan it shows, what it sends, and its exit codes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry_app.models import AuditEntry, Finding, Loop, LoopRun, Owner, Provider
from tests.factories import make_administrator, make_user
from tests.registry_app.loop.world import (
    API,
    OLD,
    PARKED,
    WWW,
    declare,
    open_parking,
    owned,
    wanted,
)
from tests.registry_app.management.command import run_command, run_json
from tests.registry_app.transfer.world import World

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]

MANIFEST = f"""
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata:
  name: parked
  namespace: shop
spec:
  endpoints:
    - dnsName: {WWW}
      recordType: A
      recordTTL: 300
      targets: ["192.0.2.8"]
    - dnsName: shop.example.org
      recordType: A
      targets: ["192.0.2.66"]
    - dnsName: text.example.org
      recordType: TXT
      targets: ["hello"]
"""


@pytest.fixture
def world() -> Iterator[World]:
    with open_parking([*owned(WWW, "192.0.2.7"), *owned(OLD)]) as opened:
        owner = Owner.objects.get(owner_id=PARKED)
        Loop.objects.create(owner=owner, provider=opened.provider, is_enabled=False)
        yield opened


@pytest.fixture
def manifests(tmp_path: Path) -> str:
    (tmp_path / "parked.yaml").write_text(MANIFEST)
    return f"--source={tmp_path}"


LOOP = ("dnsadmin_loop", f"--owner={PARKED}", "--provider=blue-zone")


def test_a_dry_run_shows_the_plan_and_changes_nothing(world: World, manifests: str) -> None:
    before = world.reference.zone_bytes()

    code, text = run_command(*LOOP, manifests, "--dry-run")

    assert code == 2
    lines = text.splitlines()
    assert f"  ~ {WWW} A 192.0.2.7 (TTL 300) → 192.0.2.8 (TTL 300)" in lines
    assert f"  - {OLD} A 192.0.2.1 (TTL 300)" in lines
    assert "  = shop.example.org A: It is not ours to update: blue-cluster owns it." in lines
    assert "  = text.example.org TXT: Records of this type are not managed here." in lines
    assert "0 to create, 1 to update, 1 to delete, 2 left alone." in lines
    assert world.reference.zone_bytes() == before
    assert not LoopRun.objects.exists()


def test_it_applies_and_then_all_stands_as_wanted(world: World, manifests: str) -> None:
    code, document = run_json(*LOOP, manifests)
    again, text = run_command(*LOOP, manifests)

    assert (code, again) == (0, 0)
    assert document["run"]["status"] == "verified"
    assert {each["outcome"] for each in document["run"]["outcomes"]} == {"verified"}
    assert (document["run"]["updated"], document["run"]["deleted"]) == (1, 1)
    assert "Nothing to do." in text
    assert world.zone()[WWW, "A"].targets == ("192.0.2.8",)
    assert (OLD, "A") not in world.zone()


def test_a_dry_run_of_what_stands_as_wanted_has_nothing_to_say(world: World, manifests: str) -> None:
    run_command(*LOOP, manifests)

    code, document = run_json(*LOOP, manifests, "--dry-run")

    assert code == 0
    assert (document["plan"]["creates"], document["plan"]["updates"]) == ([], [])


def test_what_safety_refuses_names_the_words_to_say(world: World) -> None:
    Loop.objects.update(is_enabled=False)

    refused, document = run_json(*LOOP, "--declared")
    text = document["run"]["confirmation_text"]
    done, _ = run_command(*LOOP, "--declared", f"--confirm={text}")

    assert (refused, done) == (3, 0)
    assert text == f"delete 2 record sets of {PARKED}"
    assert (WWW, "A") not in world.zone()


def test_declared_endpoints_are_run_under_the_policy_of_their_loop(world: World) -> None:
    declare(world, [wanted(API)], policy="upsert-only")

    code, document = run_json(*LOOP, "--declared")

    assert code == 0
    assert [(each["name"], each["action"]) for each in document["run"]["outcomes"]] == [(API, "create")]
    assert document["plan"]["policy"] == "upsert-only"


def test_a_person_is_named_in_the_audit_trail_and_asked_for_their_rights(
    world: World, manifests: str
) -> None:
    make_administrator("alice")
    make_user("charlie")

    refused, document = run_json(*LOOP, manifests, "--as=charlie")
    done, _ = run_json(*LOOP, manifests, "--as=alice")

    assert (refused, done) == (1, 0)
    assert document["error"]["code"] == "not_allowed"
    assert AuditEntry.objects.get(action="loop_run.sending").actor_name == "alice"


def test_a_provider_that_does_not_answer_is_an_error(world: World, manifests: str) -> None:
    world.reference.stop()

    planned, document = run_json(*LOOP, manifests, "--dry-run")
    applied, run = run_json(*LOOP, manifests)
    world.reference.start()

    assert (planned, applied) == (1, 1)
    assert document["error"]["now"] == "Nothing was planned or sent."
    assert run["run"]["status"] == "failed"


def test_while_somebody_else_has_the_provider_nothing_is_done(world: World, manifests: str) -> None:
    from registry_app.reconcile.lease import take_lease

    take_lease(world.provider.pk, "a sync")

    code, document = run_json(*LOOP, manifests)

    assert code == 1
    assert document["error"]["code"] == "provider_busy"


@pytest.mark.parametrize(
    ("arguments", "code", "reported"),
    [
        (["--owner=nobody", "--provider=blue-zone", "--declared"], 1, "no owner 'nobody'"),
        (["--owner=parked", "--provider=nowhere", "--declared"], 1, "no provider 'nowhere'"),
        (["--owner=blue-cluster", "--provider=blue-zone", "--declared"], 1, "has no loop"),
        (["--owner=parked", "--provider=blue-zone", "--source=/nonexistent"], 1, "manifests cannot be used"),
        (["--owner=parked", "--provider=blue-zone", "--declared", "--managed-types=A,BOGUS"], 1, "BOGUS"),
        (["--owner=parked", "--provider=blue-zone", "--declared", "--managed-types="], 1, "No record type"),
    ],
)
def test_what_makes_no_sense_is_told_and_sends_nothing(
    world: World, arguments: list[str], code: int, reported: str
) -> None:
    given, document = run_json("dnsadmin_loop", *arguments)

    assert given == code, document
    assert reported in document["error"]["happened"]
    assert world.change_sets() == []


def test_wrong_manifests_are_told_with_their_place(world: World, tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text(MANIFEST.replace("recordTTL: 300", "recordTTL: soon"))

    code, document = run_json(*LOOP, f"--source={tmp_path}")

    assert code == 1
    (reported,) = document["error"]["fields"]["--source"]
    assert "broken.yaml" in reported
    assert "spec.endpoints[0].recordTTL" in reported
    assert world.change_sets() == []


def test_wrong_manifests_are_a_finding_until_they_are_right(world: World, tmp_path: Path) -> None:
    manifest = tmp_path / "parked.yaml"
    manifest.write_text(MANIFEST.replace("recordTTL: 300", "recordTTL: soon"))
    stuck = Finding.objects.filter(kind=Finding.Kind.LOOP_STUCK, severity=Finding.Severity.ERROR)

    run_command(*LOOP, f"--source={tmp_path}", "--dry-run")
    is_told_of_a_dry_run = stuck.exists()
    run_command(*LOOP, f"--source={tmp_path}")
    reported = stuck.get().explanation
    manifest.write_text(MANIFEST)
    run_command(*LOOP, f"--source={tmp_path}")

    assert not is_told_of_a_dry_run
    assert "parked.yaml" in reported
    assert "spec.endpoints[0].recordTTL" in reported
    assert not stuck.exclude(state=Finding.State.RESOLVED).exists()


def test_manifests_do_not_run_beside_a_loop_that_runs_by_itself(world: World, manifests: str) -> None:
    Loop.objects.update(is_enabled=True)

    code, document = run_json(*LOOP, manifests)

    assert code == 3
    assert document["error"]["code"] == "loop_runs_here"


def test_a_provider_that_is_switched_off_is_refused(world: World, manifests: str) -> None:
    Provider.objects.update(is_enabled=False)

    planned, _ = run_json(*LOOP, manifests, "--dry-run")
    applied, _ = run_json(*LOOP, manifests)

    assert (planned, applied) == (3, 3)
