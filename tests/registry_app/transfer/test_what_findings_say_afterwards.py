"""What our own transfers did is never told as somebody else's doing."""

import pytest

from providers.wire.change_set import ChangeSet
from registry_app.models import Finding, RecordEvent, Transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.reference_server import make_record
from tests.registry_app.transfer.world import (
    GREEN,
    World,
    ask,
    make_alice,
    open_world,
    register_owner,
    request,
    undo_reviewed,
)

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

_ACCUSING = (Finding.Kind.CHANGED_BACK, Finding.Kind.DELETED_AFTER_TRANSFER)


def _accusations() -> list[str]:
    open_ones = Finding.objects.filter(kind__in=_ACCUSING).exclude(state=Finding.State.RESOLVED)
    return list(open_ones.values_list("explanation", flat=True))


def _run(transfer: Transfer) -> None:
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason


def read_again(world: World) -> None:
    """A sync that compares everything: something unrelated is new."""
    world.reference.backend.apply(ChangeSet(create=(make_record("unrelated.example.org"),)))
    world.sync()
    world.reference.backend.apply(ChangeSet(delete=(make_record("unrelated.example.org"),)))
    world.sync()


def test_an_undo_is_no_change_behind_the_back_of_what_it_undoes() -> None:
    alice = make_alice()
    with open_world(approval_policy="none") as world:
        transfer = request(alice, ask())
        _run(transfer)

        text = preview_undo(alice, transfer.public_id).confirmation_text
        _run(undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=text))
        read_again(world)

        assert _accusations() == []


def test_nor_is_moving_them_to_and_fro_a_conflict_of_two_writers() -> None:
    alice = make_alice()
    with open_world(approval_policy="none") as world:
        for _ in range(2):
            transfer = request(alice, ask())
            _run(transfer)
            text = preview_undo(alice, transfer.public_id).confirmation_text
            _run(undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=text))
        read_again(world)

        assert RecordEvent.objects.filter(kind=RecordEvent.Kind.OWNER_CHANGED).count() == 40
        assert not Finding.objects.filter(kind=Finding.Kind.FLAPPING).exists()


def test_nor_is_a_second_transfer_of_the_same_record_sets() -> None:
    alice = make_alice()
    with open_world(approval_policy="none") as world:
        register_owner("yellow-cluster")
        _run(request(alice, ask()))
        read_again(world)

        moved_on = ask(selection=Selection(owner_id=GREEN), target_owner_id="yellow-cluster")
        _run(request(alice, moved_on))
        read_again(world)

        assert _accusations() == []
