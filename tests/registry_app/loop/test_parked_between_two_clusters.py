"""Records of a cluster that is rebuilt: handed to dnsadmin, kept by its loop, handed to the next cluster."""

import pytest

from registry_app.models import LoopRun, Transfer
from registry_app.transfer.run_transfer import run_transfer
from registry_app.transfer.selection import Selection
from tests.reference_server import make_zone
from tests.registry_app.loop.world import PARKED, declare, open_parking, run_declared, wanted
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    ask,
    make_alice,
    owners,
    register_owner,
    request,
    rewrite,
)

pytestmark = pytest.mark.django_db(transaction=True)
STATUS = LoopRun.Status
SHOP = make_zone(BLUE, 5, domain="old-shop.example.org")
RECORDS = [each for each in SHOP if each.record_type != "TXT"]


def _move(world: World, source: str, target: str) -> Transfer:
    world.visit()
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
            [wanted(each.dns_name, *each.targets, record_type=each.record_type) for each in RECORDS],
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
