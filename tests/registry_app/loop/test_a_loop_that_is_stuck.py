"""A run that did not make what is wanted is a finding, until the next one does."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from providers.planning.planned_changes import Policy
from registry_app.inventory.loop import change_loop
from registry_app.loop.loop_run import note_unreadable_manifests
from registry_app.models import Finding, Freeze, Loop, LoopRun, Owner, Provider
from registry_app.reconcile.findings.draft import Severity
from tests.factories import make_administrator
from tests.faults import read_faults, write_faults
from tests.registry_app.loop.world import (
    OLD,
    PARKED,
    WWW,
    declare,
    open_parking,
    owned,
    run,
    run_declared,
    wanted,
)
from tests.registry_app.transfer.world import World, make_actor

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]
STATUS = LoopRun.Status
TAKEN = "shop.example.org"


def _found() -> Finding:
    return Finding.objects.get(kind=Finding.Kind.LOOP_STUCK)


def _open_findings() -> list[str]:
    rows = Finding.objects.filter(kind=Finding.Kind.LOOP_STUCK).exclude(state=Finding.State.RESOLVED)
    return [row.explanation for row in rows]


def _hold_snapshot(_: World) -> None:
    Provider.objects.update(status=Provider.Status.HELD)


def _freeze(_: World) -> None:
    Freeze.objects.create(reason="change stop", starts_at=timezone.now(), created_by="dora")


def _take_down(world: World) -> None:
    world.reference.faults.plan("GET /records", read_faults.status(503))


def _take_nothing(world: World) -> None:
    world.reference.faults.plan("POST /records", write_faults.success_with_nothing_applied())


@pytest.mark.parametrize(
    ("spoil", "status", "severity", "told"),
    [
        (_hold_snapshot, STATUS.REFUSED, Severity.ERROR, "Look at the held snapshot"),
        (_freeze, STATUS.REFUSED, Severity.INFO, "change stop"),
        (_take_down, STATUS.FAILED, Severity.WARNING, "nothing was sent"),
        (_take_nothing, STATUS.INCOMPLETE, Severity.WARNING, "The run shows"),
    ],
)
def test_what_keeps_a_loop_from_its_work_is_one_finding_until_the_next_good_run(
    spoil: Callable[[World], None], status: str, severity: int, told: str
) -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)])
        spoil(world)

        ended = run_declared(loop)
        found = _found()
        Provider.objects.update(status=Provider.Status.OK)
        Freeze.objects.all().delete()
        good = run_declared(loop)

        assert (ended.status, found.severity, found.state) == (status, severity, Finding.State.OPEN)
        assert told in found.explanation
        assert f"loop of {PARKED} at {world.provider.name}" in found.explanation
        assert (found.provider_id, found.owner) == (world.provider.pk, Owner.objects.get(owner_id=PARKED))
        assert found.suggestion == {"kind": "look_at_loop_run", "loop_run_id": str(ended.public_id)}
        assert good.status == STATUS.VERIFIED, good.reason
        assert _open_findings() == []


def test_the_same_trouble_again_is_the_same_finding() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)])
        _hold_snapshot(world)
        run_declared(loop)

        again = run_declared(loop)

        assert _found().suggestion["loop_run_id"] == str(again.public_id)


def test_a_sync_of_the_provider_does_not_end_it() -> None:
    with open_parking(owned(WWW)) as world:
        run(world, [])
        before = _open_findings()

        world.sync()

        assert len(before) == 1
        assert _open_findings() == before


def test_what_needs_a_confirmation_shows_its_text() -> None:
    with open_parking(owned(WWW)) as world:
        run(world, [])

        assert f"delete 1 record set of {PARKED}" in _found().explanation


def test_what_is_wanted_and_left_alone_is_a_finding_of_a_run_that_went_well() -> None:
    with open_parking() as world:
        ended = run(world, [wanted(TAKEN, "192.0.2.9"), wanted(WWW)])

        found = _found()
        assert ended.status == STATUS.VERIFIED
        assert found.severity == Severity.INFO
        assert f"{TAKEN} A: It is not ours to update: blue-cluster owns it." in found.explanation
        run(world, [wanted(WWW)])
        assert _open_findings() == []


@pytest.mark.parametrize(
    ("policy", "target", "left_alone"),
    [(Policy.UPSERT_ONLY, "192.0.2.1", 1), (Policy.CREATE_ONLY, "192.0.2.2", 2)],
)
def test_what_the_policy_leaves_alone_is_no_trouble(policy: Policy, target: str, left_alone: int) -> None:
    with open_parking([*owned(WWW), *owned(OLD)]) as world:
        ended = run(world, [wanted(WWW, target)], policy=policy)

        assert ended.left_alone_count == left_alone
        assert not Finding.objects.filter(kind=Finding.Kind.LOOP_STUCK).exists()


def test_a_loop_that_is_switched_off_has_no_finding() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)])
        _hold_snapshot(world)
        run_declared(loop)

        change_loop(make_actor(make_administrator()), loop.pk, {"is_enabled": False})

        assert not Loop.objects.get().is_enabled
        assert _open_findings() == []


def test_manifests_that_cannot_be_read_are_a_finding_until_a_run_goes_well() -> None:
    with open_parking() as world:
        owner = Owner.objects.get(owner_id=PARKED)

        note_unreadable_manifests(owner, world.provider, "The manifests cannot be used: a.yaml is no YAML.")
        told = _open_findings()
        run(world, [wanted(WWW)])

        assert [text.partition(" did not run. ")[2] for text in told] == [
            "The manifests cannot be used: a.yaml is no YAML. Correct them, and run it again."
        ]
        assert _open_findings() == []
