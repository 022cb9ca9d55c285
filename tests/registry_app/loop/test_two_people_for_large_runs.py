"""Where two people must agree, a run beyond the thresholds needs the confirmation of both."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from registry_app.actor import Actor
from registry_app.loop.loop_request import request_loop_run
from registry_app.loop.run_loop import run_loop
from registry_app.models import AuditEntry, Grant, Loop, LoopConfirmation, LoopRun
from tests.factories import make_administrator
from tests.registry_app.loop.world import PARKED, declare, open_parking, owned, run_declared, wanted
from tests.registry_app.transfer.world import World, make_actor, make_person

pytestmark = pytest.mark.django_db(transaction=True)
STATUS = LoopRun.Status
ZONE = [each for number in range(12) for each in owned(f"app-{number}.example.org")]
TEXT = f"delete 12 record sets of {PARKED}"


def _run(loop: Loop, actor: Actor, text: str = TEXT) -> LoopRun:
    request_loop_run(actor, loop.pk, confirmation=text)
    run_loop(loop.pk)
    return LoopRun.objects.latest("pk")


def _person(username: str) -> Actor:
    return make_person(username, Grant.Action.REQUEST)


def _is_untouched(world: World) -> bool:
    return world.change_sets() == []


@pytest.mark.parametrize("policy", ["other_person", "both_sides"])
def test_one_person_confirms_in_vain_and_the_second_has_it_done(policy: str) -> None:
    with open_parking(ZONE, approval_policy=policy) as world:
        loop = declare(world, [])
        alice, bob = _person("alice"), _person("bob")

        first = _run(loop, alice)
        again = _run(loop, alice)
        untouched = _is_untouched(world)
        second = _run(loop, bob)

        assert (first.status, again.status) == (STATUS.REFUSED, STATUS.REFUSED)
        assert "requires the confirmation of another person too" in first.reason
        assert untouched
        assert (second.status, second.deleted) == (STATUS.VERIFIED, 12), second.reason
        told = AuditEntry.objects.filter(action__startswith="loop_run.confirmed").order_by("sequence")
        assert [entry.actor_name for entry in told] == ["alice", "alice", "bob"]
        assert not LoopConfirmation.objects.exists()


@pytest.mark.parametrize("reason", ["another plan", "too long ago", "right is gone", "one issuer"])
def test_a_first_confirmation_that_does_not_count_any_more_needs_another_again(reason: str) -> None:
    with open_parking(ZONE, approval_policy="other_person") as world:
        loop = declare(world, [])
        alice, bob = _person("alice"), _person("bob")
        _run(loop, alice)
        if reason == "another plan":
            loop = declare(world, [wanted("app-0.example.org", "192.0.2.9")])
        elif reason == "too long ago":
            LoopConfirmation.objects.update(confirmed_at=timezone.now() - timedelta(hours=25))
        elif reason == "right is gone":
            Grant.objects.filter(group__name="people like alice").delete()
        else:
            LoopConfirmation.objects.update(issuer=bob.user_id)
        text = f"update 1, delete 11 record sets of {PARKED}" if reason == "another plan" else TEXT

        second = _run(loop, bob, text)

        assert second.status == STATUS.REFUSED
        assert _is_untouched(world)


@pytest.mark.parametrize("is_maker_first", [True, False])
def test_who_just_set_the_password_of_the_other_is_no_second_person(is_maker_first: bool) -> None:
    maker, bob = make_administrator(), _person("bob")
    pages = Client()
    pages.force_login(maker)
    password = {"password1": "a-long-enough-passphrase", "password2": "a-long-enough-passphrase"}
    pages.post(f"/admin/auth/user/{bob.user_id}/password/", {"usable_password": "true", **password})
    people = [make_actor(maker), bob]
    first, second = people if is_maker_first else reversed(people)
    with open_parking(ZONE, approval_policy="other_person") as world:
        loop = declare(world, [])
        _run(loop, first)

        ended = _run(loop, second)

        assert ended.status == STATUS.REFUSED
        assert _is_untouched(world)


def test_an_unknown_person_confirms_nothing() -> None:
    with open_parking(ZONE, approval_policy="other_person") as world:
        loop = declare(world, [])

        ended = run_declared(loop, TEXT)

        assert ended.status == STATUS.REFUSED
        assert "--as" in ended.reason
        assert _is_untouched(world)


def test_a_small_run_needs_no_confirmation() -> None:
    with open_parking(ZONE, approval_policy="other_person") as world:
        loop = declare(
            world, [*(wanted(f"app-{number}.example.org") for number in range(12)), wanted("new.example.org")]
        )

        run_loop(loop.pk)

        run = LoopRun.objects.latest("pk")
        assert (run.status, run.created) == (STATUS.VERIFIED, 1), run.reason
        assert ("new.example.org", "A") in world.zone()
