"""A run changes only what whoever asked for it may change, by the rights they have when it runs."""

import pytest
from django.contrib.auth.models import Group, User

from registry_app.actor import Actor
from registry_app.errors import NotAllowed
from registry_app.inventory.declared import declare_endpoint, declare_endpoints, withdraw_endpoint
from registry_app.loop.loop_request import build_request, find_loop, request_loop_run
from registry_app.loop.run_loop import preview_loop, run_loop
from registry_app.models import (
    AuditEntry,
    DeclaredEndpoint,
    Grant,
    Loop,
    LoopRun,
    Owner,
    RegistryProfile,
)
from registry_app.queries.loop import may_ask_for_run, may_plan_loop
from tests.factories import make_user, set_instance
from tests.registry_app.loop.world import (
    API,
    OLD,
    PARKED,
    WWW,
    declare,
    let_time_pass,
    open_parking,
    owned,
    wanted,
)
from tests.registry_app.transfer.world import make_actor

pytestmark = pytest.mark.django_db(transaction=True)
STATUS = LoopRun.Status


def _alice(**narrowed: object) -> Actor:
    """Who may request transfers as far as that goes."""
    user = User.objects.filter(username="alice").first() or make_user("alice")
    group, _ = Group.objects.get_or_create(name="team-blue")
    user.groups.add(group)
    Grant.objects.create(group=group, action=Grant.Action.REQUEST, **narrowed)
    return make_actor(user)


def test_who_reaches_none_of_its_names_neither_plans_nor_runs_a_loop() -> None:
    zone = [each for number in range(12) for each in owned(f"app-{number}.example.org")]
    with open_parking(zone) as world:
        loop = declare(world, [])
        alice = _alice(name_suffix="nothing.invalid")

        with pytest.raises(NotAllowed):
            request_loop_run(alice, loop.pk, confirmation=f"delete 12 record sets of {PARKED}")

        loop.refresh_from_db()
        assert not may_plan_loop(alice, loop.provider, loop.owner)
        assert (loop.requested_by, loop.confirmation) == ("", "")
        assert not AuditEntry.objects.filter(action="loop.run_requested").exists()


def test_a_run_stops_before_a_name_beyond_the_rights_of_who_asked() -> None:
    with open_parking([*owned(WWW), *owned(OLD)]) as world:
        loop = declare(world, [wanted(WWW, "192.0.2.9")])
        alice = _alice(name_suffix=WWW)

        request_loop_run(alice, loop.pk, confirmation=f"update 1, delete 1 record sets of {PARKED}")
        run_loop(loop.pk)

        run = LoopRun.objects.latest("pk")
        assert run.status == STATUS.REFUSED
        assert f"alice requested this run and may not change {OLD}" in run.reason
        assert world.change_sets() == []


def test_a_run_makes_what_whoever_asked_may_change() -> None:
    with open_parking([*owned(WWW), *owned(OLD)]) as world:
        loop = declare(world, [wanted(WWW, "192.0.2.9"), wanted(OLD)])
        request_loop_run(_alice(name_suffix=WWW), loop.pk)

        run_loop(loop.pk)

        run = LoopRun.objects.latest("pk")
        assert (run.status, run.updated, run.requested_by) == (STATUS.VERIFIED, 1, "alice"), run.reason


@pytest.mark.parametrize("lost", ["the grant", "the account", "the sign-in"])
def test_a_right_that_ended_before_the_run_counts_no_more(lost: str) -> None:
    with open_parking(owned(WWW)) as world:
        loop = declare(world, [wanted(WWW, "192.0.2.9")])
        request_loop_run(_alice(), loop.pk)
        if lost == "the grant":
            Grant.objects.all().delete()
        elif lost == "the account":
            User.objects.get(username="alice").delete()
        else:
            User.objects.filter(username="alice").update(is_active=False)

        run_loop(loop.pk)

        assert LoopRun.objects.latest("pk").status == STATUS.REFUSED
        assert world.change_sets() == []


def test_the_run_after_a_refused_one_is_the_schedules_again() -> None:
    with open_parking([*owned(WWW), *owned(API)]) as world:
        loop = declare(world, [wanted(WWW, "192.0.2.9"), wanted(API)])
        request_loop_run(_alice(name_suffix=API), loop.pk)
        run_loop(loop.pk)
        let_time_pass()

        run_loop(loop.pk)

        last = LoopRun.objects.latest("pk")
        assert (last.status, last.trigger) == (STATUS.VERIFIED, LoopRun.Trigger.SCHEDULE), last.reason


def test_a_plan_says_what_its_reader_may_not_have_done() -> None:
    with open_parking([*owned(WWW), *owned(OLD)]) as world:
        loop = declare(world, [wanted(WWW)])
        request = build_request(find_loop(loop.pk))

        _, refusals = preview_loop(
            type(request)(**{**vars(request), "on_behalf_of": _alice(name_suffix=WWW)})
        )

        assert [refusal.code for refusal in refusals] == ["not_allowed"]


def test_without_ownership_a_run_needs_the_right_to_what_nobody_owns() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW)])
        blind = RegistryProfile.objects.create(name="none", kind="noop")
        set_instance(PARKED, registry_profile=blind)
        owner = Owner.objects.get(owner_id=PARKED)
        narrow = may_ask_for_run(_alice(owner=owner), world.provider, owner)

        assert not narrow
        assert may_ask_for_run(_alice(), world.provider, owner)
        assert Loop.objects.get().pk == loop.pk


def test_endpoints_are_declared_and_withdrawn_under_ones_names_alone() -> None:
    with open_parking() as world:
        loop = declare(world, [wanted(WWW), wanted(API)])
        alice = _alice(name_suffix=WWW)
        value = {"record_type": "A", "targets": ["192.0.2.9"]}
        foreign = DeclaredEndpoint.objects.get(name=API)

        declare_endpoint(alice, loop.pk, {"name": WWW, **value})
        for refused in (
            lambda: declare_endpoint(alice, loop.pk, {"name": API, **value}),
            lambda: withdraw_endpoint(alice, loop.pk, foreign.pk),
            lambda: declare_endpoints(
                alice, loop.pk, [], expected_declared_at=Loop.objects.get().declared_at
            ),
        ):
            with pytest.raises(NotAllowed):
                refused()

        assert {row.name: row.targets for row in DeclaredEndpoint.objects.all()} == {
            WWW: ["192.0.2.9"],
            API: ["192.0.2.1"],
        }


def test_emptying_a_loop_that_keeps_nothing_needs_the_right_to_all_of_it() -> None:
    with open_parking() as world:
        loop = declare(world, [])

        with pytest.raises(NotAllowed):
            declare_endpoints(_alice(name_suffix=WWW), loop.pk, [], expected_declared_at=loop.declared_at)
