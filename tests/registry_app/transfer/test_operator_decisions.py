"""What an operator can do about a transfer that is neither as it was nor as wanted."""

import msgspec
import pytest
from django.utils import timezone

from providers.wire.endpoint import Endpoint
from registry_app.errors import InvalidRequest, NotAllowed, RefusedBySafety, StateMoved
from registry_app.models import Finding, Freeze, Transfer
from registry_app.queries.transfer import allowed_actions
from registry_app.transfer.decisions import decide_transfer
from registry_app.transfer.send.run_transfer import run_transfer
from tests.faults import write_faults
from tests.registry_app.transfer.world import (
    GREEN,
    ask,
    make_alice,
    make_bob,
    open_world,
    owners,
    request,
    rewrite,
)

pytestmark = pytest.mark.django_db(transaction=True)

STATUS = Transfer.Status


def run(transfer: Transfer) -> Transfer:
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    return transfer


def test_an_operator_reads_it_back_again_and_what_came_late_is_verified() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        other = write_faults.success_with_something_else(_to_red)
        world.reference.faults.plan("POST /records", other)
        run(transfer)
        assert transfer.status == STATUS.NEEDS_OPERATOR
        for endpoint in world.reference.endpoints():
            if endpoint.record_type == "TXT":
                text = endpoint.targets[0].replace("red-cluster", GREEN)
                rewrite(world, endpoint.dns_name, "TXT", text)

        decide_transfer(alice, transfer.public_id, decision="look_again", reason="Somebody repaired it.")
        run(transfer)

        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert len(world.change_sets()) == 1
        assert not Finding.objects.filter(kind="transfer_stuck", state="open").exists()


def test_an_operator_sends_again_what_stands_as_it_was() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        old = {each.dns_name: each for each in world.reference.endpoints()}
        world.reference.faults.plan("POST /records", write_faults.success_with_something_else(_to_red))
        run(transfer)
        for endpoint in world.reference.endpoints():
            if endpoint.record_type == "TXT":
                rewrite(world, endpoint.dns_name, "TXT", old[endpoint.dns_name].targets[0])

        decide_transfer(alice, transfer.public_id, decision="send_again", reason="All is as before.")
        run(transfer)

        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert owners(world) == {GREEN: 10}


def test_nothing_is_sent_again_under_a_freeze() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        world.reference.faults.plan("POST /records", write_faults.success_with_something_else(_to_red))
        run(transfer)
        Freeze.objects.create(reason="change stop", starts_at=timezone.now(), created_by="bob")

        with pytest.raises(RefusedBySafety) as refused:
            decide_transfer(alice, transfer.public_id, decision="send_again", reason="Now.")

        transfer.refresh_from_db()
        assert refused.value.code == "frozen"
        assert transfer.status == STATUS.NEEDS_OPERATOR
        assert len(world.change_sets()) == 1


def test_what_is_kept_as_it_is_gives_its_names_free() -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        world.reference.faults.plan("POST /records", write_faults.success_with_something_else(_to_red))
        run(transfer)

        decide_transfer(alice, transfer.public_id, decision="keep_as_is", reason="Red has them.")

        transfer.refresh_from_db()
        assert transfer.status == STATUS.FAILED
        assert not transfer.items.filter(lock_key__isnull=False).exists()
        assert len(world.change_sets()) == 1


def test_only_an_operator_decides_and_only_with_a_reason() -> None:
    alice, bob = make_alice(), make_bob()
    with open_world() as world:
        transfer = request(alice, ask())
        with pytest.raises(StateMoved):
            decide_transfer(alice, transfer.public_id, decision="look_again", reason="Early.")
        world.reference.faults.plan("POST /records", write_faults.success_with_something_else())
        run(transfer)

        with pytest.raises(NotAllowed):
            decide_transfer(bob, transfer.public_id, decision="look_again", reason="Me too.")
        with pytest.raises(InvalidRequest):
            decide_transfer(alice, transfer.public_id, decision="look_again", reason="")
        with pytest.raises(InvalidRequest):
            decide_transfer(alice, transfer.public_id, decision="send_everything", reason="Now.")

        transfer.refresh_from_db()
        assert transfer.status == STATUS.NEEDS_OPERATOR
        assert allowed_actions(bob, transfer) == []
        offered = allowed_actions(alice, transfer)
        assert [each.action for each in offered] == ["look_again", "send_again", "keep_as_is"]
        assert all(each.consequence for each in offered)


def _to_red(endpoint: Endpoint) -> Endpoint:
    text = endpoint.targets[0].replace(GREEN, "red-cluster")
    return msgspec.structs.replace(endpoint, targets=(text,))
