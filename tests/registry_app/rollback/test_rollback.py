"""Rolling ownership back to a moment, after an instance took what was not its own."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from providers.wire.endpoint import Endpoint
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest, NotFound, RefusedBySafety, StateMoved
from registry_app.models import Provider, Transfer
from registry_app.queries.past_record_set import PastFilter
from registry_app.rollback.plan_rollback import RollbackRequest, list_left, plan_rollback
from registry_app.rollback.request_rollback import request_rollback
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_desired_set, make_guard_endpoint, make_instance, make_owner
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.management.command import run_command, run_json
from tests.registry_app.reconcile.changing_zone import show
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    approve,
    make_alice,
    make_bob,
    open_world,
    owners,
)

pytestmark = pytest.mark.django_db


def _take_over(world: World, *names: str, zone: list[Endpoint]) -> datetime:
    """Another owner's claims at these names, as the migration flag writes them; the moment before."""
    before = fetch_now()
    taken = {make_claim(name).dns_name for name in names}
    show(world.reference, [_sign(each, GREEN) if each.dns_name in taken else each for each in zone])
    world.sync()
    world.reference.history.clear()
    return before


def _sign(claim: Endpoint, owner_id: str) -> Endpoint:
    """As the flag does: all labels but the owner stay."""
    targets = tuple(text.replace(f"owner={BLUE}", f"owner={owner_id}") for text in claim.targets)
    return msgspec.structs.replace(claim, targets=targets)


def _ask(world: World, moment: datetime, **values: Any) -> RollbackRequest:
    defaults = {"reason": "The migration flag.", "target_intent": Transfer.TargetIntent.SAME}
    return RollbackRequest(world.provider, moment, **{**defaults, **values})


NAMES = tuple(f"app-{number:05d}.example.org" for number in range(3))


def test_what_was_taken_goes_back_by_transfers_and_the_zone_is_as_before() -> None:
    zone = make_zone(BLUE, 20)
    with open_world(zone, approval_policy=Provider.ApprovalPolicy.OTHER_PERSON) as world:
        was = world.reference.zone_bytes()
        moment = _take_over(world, *NAMES, zone=zone)
        alice, bob = make_alice(), make_bob()

        plan, (transfer,) = request_rollback(alice, _ask(world, moment))
        approve(bob, transfer)
        run_transfer(transfer.pk)

        assert [(part.way.source_owner_id, part.way.target_owner_id) for part in plan.parts] == [
            (GREEN, BLUE)
        ]
        assert list_left(plan) == []
        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED
        assert transfer.reason == f"Roll back to {moment.isoformat(timespec='seconds')}: The migration flag."
        assert owners(world) == {BLUE: 20}
        assert world.reference.zone_bytes() == was
        assert plan_rollback(alice, _ask(world, moment)).parts == []


def test_what_came_went_or_is_wanted_by_another_stays_and_is_named() -> None:
    zone = make_zone(BLUE, 20)
    with open_world(zone) as world:
        moment = _take_over(world, *NAMES, zone=zone)
        gone = {"app-00010.example.org", "a-app-00010.example.org"}
        now = [each for each in world.reference.endpoints() if each.dns_name not in gone]
        show(world.reference, [*now, make_record(), make_claim(owner=GREEN)])
        world.sync()
        guard = make_guard_endpoint(make_instance(make_owner("red-cluster"), "red"), world.provider)
        make_desired_set(guard, NAMES[0])

        plan = plan_rollback(make_alice(), _ask(world, moment))

    (part,) = plan.parts
    assert [item.name for item in part.plan.included] == list(NAMES[1:])
    assert [(each["name"], each["code"]) for each in list_left(plan)] == [
        ("app-00000.example.org", "wanted_by_other"),
        ("app-00010.example.org", "gone"),
        ("www.example.org", "came"),
    ]


def test_claims_that_came_are_released_and_claims_that_went_are_written_again() -> None:
    free, claimed = make_record("free.example.org"), make_record("claimed.example.org")
    zone = [*make_zone(BLUE, 20), free, claimed, make_claim("claimed.example.org", "A", BLUE)]
    with open_world(zone) as world:
        was, moment = world.reference.endpoints(), fetch_now()
        show(world.reference, [*zone[:-1], make_claim("free.example.org", "A", GREEN)])
        world.sync()
        alice = make_alice()
        plan = plan_rollback(alice, _ask(world, moment))

        _, transfers = request_rollback(alice, _ask(world, moment, fingerprint=plan.fingerprint))
        for transfer in transfers:
            run_transfer(transfer.pk)

        assert sorted(part.way.kind for part in plan.parts) == ["adopt", "release"]
        assert set(Transfer.objects.values_list("status", flat=True)) == {Transfer.Status.VERIFIED}
        # A claim that is written anew has the TTL that providers choose.
        assert [each.dns_name for each in world.reference.endpoints()] == [each.dns_name for each in was]
        assert owners(world) == {BLUE: 21}


def test_a_part_of_it_can_be_asked_for() -> None:
    zone = make_zone(BLUE, 20)
    with open_world(zone) as world:
        moment = _take_over(world, *NAMES, zone=zone)

        for wanted, count in (
            (PastFilter(owner_id=GREEN), 3),
            (PastFilter(owner_id="red-cluster"), 0),
            (PastFilter(name_suffix=NAMES[1]), 1),
            (PastFilter(writer=GREEN), 3),
        ):
            plan = plan_rollback(make_alice(), _ask(world, moment, wanted=wanted))
            assert sum(len(part.plan.included) for part in plan.parts) == count


def test_without_a_review_the_transfers_wait_and_a_moved_plan_is_refused() -> None:
    zone = make_zone(BLUE, 20)
    with open_world(zone) as world:
        moment = _take_over(world, *NAMES, zone=zone)
        alice = make_alice()
        plan = plan_rollback(alice, _ask(world, moment))
        with pytest.raises(StateMoved):
            request_rollback(alice, _ask(world, moment, fingerprint="0" * 64))

        _, (unseen,) = request_rollback(alice, _ask(world, moment))

        assert unseen.status == Transfer.Status.REQUESTED
        assert len(plan.fingerprint) == 64
        with pytest.raises((RefusedBySafety, StateMoved)):
            request_rollback(alice, _ask(world, moment, fingerprint=plan.fingerprint))
        assert Transfer.objects.count() == 1


def test_nothing_to_give_back_no_reason_and_no_right_are_refused() -> None:
    zone = make_zone(BLUE, 20)
    with open_world(zone) as world:
        moment = _take_over(world, zone=zone)
        with pytest.raises(NotFound):
            request_rollback(make_alice(), _ask(world, moment))
        with pytest.raises(InvalidRequest):
            request_rollback(make_alice(), _ask(world, moment, reason=" "))
        _take_over(world, *NAMES, zone=zone)
        _, text = run_command("dnsadmin_rollback", *_words("plan", moment), "--as", "bob")

        assert Transfer.objects.count() == 0
        assert world.change_sets() == []
    assert "There is no active user 'bob'" in text


def _words(act: str, moment: datetime) -> list[str]:
    return [act, moment.isoformat(), "--provider", "blue-zone", "--intent", "same"]


def test_the_command_shows_the_plan_and_requests_what_was_shown() -> None:
    zone = make_zone(BLUE, 20)
    with open_world(zone) as world:
        moment = _take_over(world, *NAMES, zone=zone)
        make_alice()

        planned, text = run_command("dnsadmin_rollback", *_words("plan", moment), "--as", "alice")
        _, plan = run_json("dnsadmin_rollback", *_words("plan", moment), "--as", "alice")
        code, done = run_json(
            "dnsadmin_rollback",
            *_words("request", moment),
            *("--as", "alice", "--reason", "again", "--fingerprint", plan["fingerprint"]),
        )

    assert (planned, code) == (2, 0)
    assert "From green-cluster back to blue-cluster:" in text
    assert f"fingerprint {plan['fingerprint']}" in text
    assert [each["item_count"] for each in done["transfers"]] == [3]
    assert done["not_rolled_back"] == []
