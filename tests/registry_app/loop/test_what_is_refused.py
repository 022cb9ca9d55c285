"""What a run does not do, or not unasked: each time nothing is sent, and the run says why."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from providers.planning.planned_changes import Policy
from providers.wire.domain_filter import DomainFilter
from registry_app.loop.loop_request import LoopRequest
from registry_app.loop.run_loop import run_request
from registry_app.models import Cluster, Freeze, Loop, LoopRun, Owner, Provider
from registry_app.transfer.plan.transfer_request import Selection
from tests.factories import set_instance
from tests.faults import read_faults
from tests.reference_server import ReferenceProvider
from tests.registry_app.loop.world import (
    BYSTANDERS,
    OLD,
    PARKED,
    SHELL,
    WWW,
    make_request,
    open_parking,
    owned,
    run,
    wanted,
)
from tests.registry_app.transfer.world import World, ask, enter_world, make_alice, register_owner, request

pytestmark = pytest.mark.django_db(transaction=True)
STATUS = LoopRun.Status


def _freeze(_: World) -> None:
    Freeze.objects.create(reason="change stop", starts_at=timezone.now(), created_by="dora")


def _put_into_a_cluster(_: World) -> None:
    set_instance(PARKED, cluster=Cluster.objects.create(name="blue"))


def _forget_the_owner(_: World) -> None:
    Owner.objects.filter(owner_id=PARKED).update(status=Owner.Status.DISCOVERED)


def _switch_off(_: World) -> None:
    Provider.objects.update(is_enabled=False)


def _hold(_: World) -> None:
    Provider.objects.update(status=Provider.Status.HELD)


def _never_sync(_: World) -> None:
    Provider.objects.update(accepted_at=None)


def _change_filter(_: World) -> None:
    filtered = Provider.objects.get()
    filtered.domain_filter = {
        **filtered.domain_filter,
        "include": ["example.net"],
        "matches_everything": False,
    }
    filtered.save(update_fields=["domain_filter"])


REASONS: list[tuple[Callable[[World], None], str]] = [
    (_freeze, "frozen"),
    (_put_into_a_cluster, "its own instance there and dnsadmin would undo each other's changes"),
    (_forget_the_owner, "not registered"),
    (_switch_off, "switched off"),
    (_hold, "held for review"),
    (_never_sync, "not synced yet"),
    (_change_filter, "another domain filter"),
]


@pytest.mark.parametrize(("spoil", "told"), REASONS)
def test_nothing_is_sent_and_the_run_says_why(spoil: Callable[[World], None], told: str) -> None:
    with open_parking() as world:
        spoil(world)

        ended = run(world, [wanted(WWW)])

        assert ended.status == STATUS.REFUSED
        assert told in ended.reason
        assert world.change_sets() == []
        assert Provider.objects.get().lease_holder == ""


def test_an_empty_answer_is_no_reason_to_make_everything_anew() -> None:
    with open_parking(owned(WWW)) as world:
        world.reference.faults.plan("GET /records", read_faults.body(b"[]"))

        ended = run(world, [wanted(WWW)])

        assert ended.status == STATUS.FAILED
        assert "The response is empty; the mirror holds" in ended.reason
        assert world.change_sets() == []


def test_a_large_share_is_deleted_only_on_somebodys_exact_word() -> None:
    zone = [each for number in range(10) for each in owned(f"app-{number}.example.org")]
    desired = [wanted(f"app-{number}.example.org") for number in range(6)]
    with open_parking(zone) as world:
        asked = run(world, desired)
        wrong = run(world, desired, confirmation="delete everything")
        sent_unasked = world.change_sets()
        ended = run(world, desired, confirmation=asked.confirmation_text)

        assert (asked.status, wrong.status) == (STATUS.REFUSED, STATUS.REFUSED)
        assert asked.confirmation_text == f"delete 4 record sets of {PARKED}"
        assert asked.confirmation_text in asked.reason
        assert sent_unasked == []
        assert (ended.status, ended.deleted) == (STATUS.VERIFIED, 4), ended.reason


def test_what_was_deleted_on_request_is_not_implausible_to_the_next_sync() -> None:
    zone = [each for number in range(30) for each in owned(f"app-{number}.example.org")]
    with open_parking(zone) as world:
        asked = run(world, [wanted(WWW)])
        ended = run(world, [wanted(WWW)], confirmation=asked.confirmation_text)

        world.sync()

        assert (ended.status, ended.deleted) == (STATUS.VERIFIED, 30), ended.reason
        assert world.provider.status == Provider.Status.OK
        assert run(world, [wanted(WWW)]).status == STATUS.UNCHANGED


def test_three_of_ten_are_deleted_unasked() -> None:
    zone = [each for number in range(10) for each in owned(f"app-{number}.example.org")]
    with open_parking(zone) as world:
        ended = run(world, [wanted(f"app-{number}.example.org") for number in range(7)])

        assert (ended.status, ended.deleted) == (STATUS.VERIFIED, 3), ended.reason


def test_an_empty_desired_set_needs_a_confirmation() -> None:
    with open_parking(owned(WWW)) as world:
        asked = run(world, [])
        ended = run(world, [], confirmation=asked.confirmation_text)

        assert (asked.status, ended.status) == (STATUS.REFUSED, STATUS.VERIFIED)
        assert "There is no desired endpoint" in asked.reason


def test_an_owner_that_never_was_dnsadmins_is_not_changed_unasked() -> None:
    with open_parking(owned(WWW)) as world:
        asked_for = make_request(world, [wanted(WWW, "192.0.2.2")])
        Loop.objects.all().delete()

        ended = _ask(asked_for)
        new = _ask(make_request(world, [wanted(WWW), wanted(OLD)]))

        assert (ended.status, new.status) == (STATUS.REFUSED, STATUS.VERIFIED)
        assert "dnsadmin never managed this owner here before" in ended.reason


def test_names_that_a_transfer_holds_are_left_alone() -> None:
    alice = make_alice()
    with open_parking(owned(WWW), approval_policy="other_person") as world:
        held = request(alice, ask(selection=Selection(owner_id=PARKED)))

        ended = run(world, [wanted(WWW, "192.0.2.2"), wanted("new.example.org")])

        assert [item.name for item in held.items.all()] == [WWW]
        assert (ended.status, ended.created, ended.updated) == (STATUS.VERIFIED, 1, 0)
        assert [(each["name"], each["reason"]) for each in ended.left_alone] == [
            (WWW, "An open transfer has its name.")
        ]


@pytest.mark.parametrize(
    ("policy", "updated", "deleted"),
    [(Policy.SYNC, 1, 1), (Policy.UPSERT_ONLY, 1, 0), (Policy.CREATE_ONLY, 0, 0)],
)
def test_the_policy_says_what_may_be_updated_and_deleted(policy: Policy, updated: int, deleted: int) -> None:
    with open_parking([*owned(WWW), *owned(OLD)]) as world:
        ended = run(world, [wanted(WWW, "192.0.2.2"), wanted("new.example.org")], policy=policy)

        assert (ended.created, ended.updated, ended.deleted) == (1, updated, deleted)
        assert ended.left_alone_count == 2 - updated - deleted


def test_types_that_are_not_managed_and_names_outside_the_filter_are_reported() -> None:
    with ReferenceProvider(BYSTANDERS, domain_filter=DomainFilter(include=("example.org",))) as reference:
        world = enter_world(reference, "narrow")
        register_owner(PARKED)

        ended = run(world, [wanted("www.example.net"), wanted(WWW, "text", record_type="TXT")])

        assert ended.status == STATUS.UNCHANGED
        assert sorted(each["reason"] for each in ended.left_alone) == [
            "It is outside the domain filter.",
            "Records of this type are not managed here.",
        ]


def _ask(asked: LoopRequest) -> LoopRun:
    Loop.objects.all().delete()
    return run_request(asked, actor=SHELL, trigger=LoopRun.Trigger.PERSON)
