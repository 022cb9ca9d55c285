"""A freeze of some names or of an owner stops a transfer of any of it, and no other."""

from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from registry_app.errors import RefusedBySafety
from registry_app.models import Freeze, Transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.faults import write_faults
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    approve,
    ask,
    make_alice,
    make_bob,
    open_world,
    plan,
    register_owner,
    request,
)

pytestmark = pytest.mark.django_db(transaction=True)
STATUS = Transfer.Status
FIRST, LAST = "app-00000.example.org", "app-00009.example.org"


def _freeze_meanwhile(name: str) -> None:
    _freeze(names=[name])


def _freeze(**values: Any) -> Freeze:
    now = timezone.now()
    return Freeze.objects.create(
        **{"reason": "Change stop.", "starts_at": now, "created_by": "alice", **values}
    )


def test_one_frozen_name_warns_refuses_the_approval_and_holds_up_the_sending() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person") as world:
        freeze = _freeze(names=[LAST])
        warnings = plan(alice, ask()).warnings
        transfer = request(alice, ask())
        with pytest.raises(RefusedBySafety) as refused:
            approve(bob, transfer)
        freeze.delete()
        approve(bob, transfer)
        freeze.pk = None
        freeze.save()

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert [each.code for each in warnings] == ["frozen"]
        assert refused.value.code == "frozen"
        assert refused.value.happened == f"{LAST} is frozen (Change stop.), which covers {LAST}."
        assert transfer.status == STATUS.APPROVED
        assert f"which covers {LAST}" in transfer.status_reason
        assert world.reference.history.requests() == ()


def test_a_transfer_of_other_names_is_sent() -> None:
    with open_world() as world:
        _freeze(names=[LAST])
        _freeze(name_suffixes=[f".{FIRST}"])
        transfer = request(make_alice(), ask(selection=Selection(names=(FIRST,))))

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED
        assert world.change_sets()


@pytest.mark.parametrize(("owner_id", "is_stopped"), [(BLUE, True), (GREEN, True), ("red-cluster", False)])
def test_a_freeze_of_an_owner_stops_what_it_loses_and_what_it_gets(
    owner_id: str, *, is_stopped: bool
) -> None:
    with open_world():
        _freeze(owner=register_owner(owner_id))

        warnings = plan(make_alice(), ask()).warnings

        assert [each.code for each in warnings] == (["frozen"] if is_stopped else [])


@pytest.mark.parametrize(("owner_id", "is_stopped"), [("red-cluster", True), ("grey-cluster", False)])
def test_a_freeze_of_one_of_the_owners_an_undo_gives_back_to_stops_it(
    owner_id: str, *, is_stopped: bool
) -> None:
    alice, red = make_alice(), "red.example.org"
    zone = [
        make_record(FIRST),
        make_claim(FIRST, owner=BLUE),
        make_record(red),
        make_claim(red, owner="red-cluster"),
    ]
    with open_world(zone):
        asked = ask(selection=Selection(names=(FIRST, red)))
        transfer = request(
            alice, ask(selection=asked.selection, confirmation=plan(alice, asked).confirmation_text)
        )
        run_transfer(transfer.pk)
        _freeze(owner=register_owner(owner_id))

        warnings = preview_undo(alice, transfer.public_id).warnings

        assert [each.code for each in warnings] == (["frozen"] if is_stopped else [])


def test_a_pin_stops_no_transfer() -> None:
    with open_world():
        _freeze(kind="pin")
        _freeze(kind="pin", names=[FIRST])
        transfer = request(make_alice(), ask())

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED


def test_a_name_that_is_frozen_in_the_middle_stops_it_before_the_batch_of_that_name() -> None:
    with open_world(batch_size=4) as world:
        transfer = request(make_alice(), ask())
        begin = write_faults.meanwhile(partial(_freeze_meanwhile, LAST))
        world.reference.faults.plan("POST /records", begin)

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.FAILED
        assert "8 of 10 were read back as written" in transfer.status_reason
        assert world.owner_of(LAST, "CNAME") == BLUE
