"""Records of a cluster that is rebuilt: handed to dnsadmin, kept by its loop, handed to the next cluster."""

import pytest
from django.utils import timezone

from registry_app.models import Loop, LoopRun, Transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.loop.world import PARKED, declare, open_parking, run_declared, wanted
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    ask,
    make_alice,
    owners,
    plan,
    register_owner,
    request,
    rewrite,
    undo_reviewed,
)

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]
STATUS = LoopRun.Status
SHOP = make_zone(BLUE, 5, domain="old-shop.example.org")
RECORDS = [each for each in SHOP if each.record_type != "TXT"]


def _move(world: World, source: str, target: str) -> Transfer:
    world.sync()
    selection = Selection(owner_id=source, name_suffix="old-shop.example.org")
    transfer = request(make_alice(), ask(selection=selection, target_owner_id=target))
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    return transfer


def test_records_go_from_blue_to_parked_and_on_to_green_and_never_change_meanwhile() -> None:
    with open_parking(SHOP, max_transfer_percent=100) as world:
        register_owner(GREEN)
        records = {key: each for key, each in world.zone().items() if key[1] != "TXT"}

        parked = _move(world, BLUE, PARKED)
        loop = declare(
            world,
            [
                wanted(each.dns_name, *each.targets, record_type=each.record_type, ttl=each.record_ttl)
                for each in RECORDS
            ],
        )
        keeping = run_declared(loop)
        rewrite(world, RECORDS[0].dns_name, "A", "203.0.113.9")
        repairing = run_declared(loop)
        loop.is_enabled = False
        loop.save(update_fields=["is_enabled"])
        moved_on = _move(world, PARKED, GREEN)

        assert (parked.status, moved_on.status) == (Transfer.Status.VERIFIED, Transfer.Status.VERIFIED)
        assert (keeping.status, repairing.status) == (STATUS.UNCHANGED, STATUS.VERIFIED)
        assert repairing.updated == 1
        assert {key: each for key, each in world.zone().items() if key[1] != "TXT"} == records
        assert owners(world) == {GREEN: 5, BLUE: 1}


def test_what_was_handed_on_is_no_longer_the_loops_to_delete() -> None:
    with open_parking(SHOP, max_transfer_percent=100) as world:
        register_owner(GREEN)
        _move(world, BLUE, PARKED)
        loop = declare(
            world,
            [wanted(each.dns_name, *each.targets, record_type=each.record_type) for each in RECORDS],
        )
        _move(world, PARKED, GREEN)
        before = world.reference.zone_bytes()
        sent = len(world.change_sets())

        ended = run_declared(declare(world, []))

        assert ended.status == STATUS.UNCHANGED
        assert len(world.change_sets()) == sent
        assert world.reference.zone_bytes() == before
        assert loop.pk == ended.loop_id


def _plan_for_parked(world: World) -> dict[str, tuple[str, str]]:
    world.sync()
    selection = Selection(owner_id=BLUE, name_suffix="old-shop.example.org")
    found = plan(make_alice(), ask(selection=selection, target_owner_id=PARKED))
    return {item.name.partition(".")[0]: (item.verdict, item.verdict_reason) for item in found.items}


def test_a_transfer_to_a_running_loop_says_of_each_record_set_what_the_loop_will_do() -> None:
    with open_parking(SHOP, max_transfer_percent=100) as world:
        names = [each.dns_name for each in RECORDS]
        as_it_is, other, undeclared = RECORDS[0], names[1], names[2]
        declare(world, [wanted(as_it_is.dns_name, *as_it_is.targets), wanted(other, "203.0.113.9")])

        found = _plan_for_parked(world)

        verdicts = {name: verdict for name, (verdict, _) in found.items()}
        first, second, third = (name.partition(".")[0] for name in (as_it_is.dns_name, other, undeclared))
        assert (verdicts[first], verdicts[second], verdicts[third]) == ("no_op", "retarget", "delete")
        assert found[third][1] == (
            "It is not declared: the next run of the loop of parked deletes it. Declare it first."
        )


@pytest.mark.parametrize(("policy", "verdict"), [("upsert-only", "no_op"), ("create-only", "no_op")])
def test_a_loop_that_never_deletes_leaves_what_it_does_not_declare(policy: str, verdict: str) -> None:
    with open_parking(SHOP, max_transfer_percent=100) as world:
        declare(world, [], policy=policy)

        assert {found for found, _ in _plan_for_parked(world).values()} == {verdict}


def test_what_no_loop_runs_for_is_judged_by_a_persons_word() -> None:
    with open_parking(SHOP, max_transfer_percent=100) as world:
        declare(world, [], is_enabled=False)

        assert all("alice says that parked" in reason for _, reason in _plan_for_parked(world).values())


def test_what_a_loop_declares_is_part_of_what_was_approved() -> None:
    with open_parking(SHOP, max_transfer_percent=100) as world:
        loop = declare(world, [wanted(each.dns_name, *each.targets) for each in RECORDS])
        world.sync()
        selection = Selection(owner_id=BLUE, name_suffix="old-shop.example.org")
        transfer = request(make_alice(), ask(selection=selection, target_owner_id=PARKED))
        before = world.reference.zone_bytes()
        Loop.objects.filter(pk=loop.pk).update(declared_at=timezone.now())

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.STALE
        assert "The declared set of parked changed" in transfer.status_reason
        assert world.reference.zone_bytes() == before


def test_an_undo_to_a_running_loop_says_what_the_loop_will_do_and_rests_on_what_it_declares() -> None:
    with open_parking(SHOP, max_transfer_percent=100) as world:
        register_owner(GREEN)
        _move(world, BLUE, PARKED)
        as_it_is, other = RECORDS[0], RECORDS[1].dns_name
        loop = declare(world, [wanted(as_it_is.dns_name, *as_it_is.targets), wanted(other, "203.0.113.9")])
        moved_on = _move(world, PARKED, GREEN)
        world.sync()
        before = world.reference.zone_bytes()

        found = preview_undo(make_alice(), moved_on.public_id)
        undo = undo_reviewed(
            make_alice(), moved_on.public_id, reason="Back.", confirmation=found.confirmation_text
        )
        Loop.objects.filter(pk=loop.pk).update(declared_at=timezone.now())
        run_transfer(undo.pk)

        verdicts = [item.verdict for item in sorted(found.included, key=lambda item: item.name)]
        assert verdicts == ["no_op", "retarget", "delete", "delete", "delete"]
        undo.refresh_from_db()
        assert undo.status == Transfer.Status.STALE
        assert "The declared set of parked changed" in undo.status_reason
        assert world.reference.zone_bytes() == before


def test_what_a_loop_declares_as_another_type_is_deleted_and_not_replaced_beside_another_owners() -> None:
    name = "www.example.org"
    zone = [
        make_record(name),
        make_claim(name),
        make_record(name, "AAAA", ("2001:db8::1",)),
        make_claim(name, "AAAA", GREEN),
    ]
    with open_parking(zone, max_transfer_percent=100) as world:
        declare(world, [wanted(name, "lb.example.org", record_type="CNAME")])
        selection = Selection(names=(name,), record_types=("A",))

        found = plan(make_alice(), ask(selection=selection, target_owner_id=PARKED))

        assert [(item.record_type, item.verdict) for item in found.included] == [("A", "not_replaced")]
        assert "it does not own the AAAA of green-cluster" in found.included[0].verdict_reason
