"""The undo of a clean-up gives a claim back only where it decides nothing, as when it was removed: it never
makes anybody the owner of what came since."""

import pytest

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.actor import SYSTEM
from registry_app.errors import RefusedBySafety
from registry_app.models import HeldSnapshot, SyncRun, Transfer
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot
from registry_app.reconcile.sync import sync_provider
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    ask,
    make_alice,
    open_world,
    plan,
    request,
    rewrite,
    undo_reviewed,
)

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

WWW = "www.example.org"
_OF_BLUE = f'"heritage=external-dns,external-dns/owner={BLUE}"'
_ORPHAN = [make_claim(WWW), make_record("other.example.org"), make_claim("other.example.org")]
_LEGACY_ORPHAN = [make_record(WWW, "TXT", (_OF_BLUE,)), *_ORPHAN[1:]]
_SUPERSEDED = [make_record(WWW), make_claim(WWW), make_record(WWW, "TXT", (_OF_BLUE,))]


def _clean_up(world: World) -> Transfer:
    alice = make_alice()
    selection = Selection(names=(WWW,), provider_id=world.provider.pk)
    text = plan(alice, ask("clean_up", selection)).confirmation_text
    transfer = request(alice, ask("clean_up", selection, confirmation=text))
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
    return transfer


def _undo(transfer: Transfer) -> Transfer:
    alice = make_alice()
    text = preview_undo(alice, transfer.public_id).confirmation_text
    return undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=text)


def _create(world: World, *endpoints: Endpoint) -> None:
    world.reference.backend.apply(ChangeSet(create=endpoints))


@pytest.mark.parametrize("zone", [_ORPHAN, _LEGACY_ORPHAN, _SUPERSEDED])
def test_it_gives_the_bytes_back(zone: list[Endpoint]) -> None:
    with open_world(zone) as world:
        before = world.reference.zone_bytes()
        transfer = _clean_up(world)

        undo = _undo(transfer)
        run_transfer(undo.pk)

        undo.refresh_from_db()
        assert undo.status == Transfer.Status.VERIFIED, undo.status_reason
        assert world.reference.zone_bytes() == before


@pytest.mark.parametrize("zone", [_ORPHAN, _LEGACY_ORPHAN])
@pytest.mark.parametrize("is_seen", [True, False])
def test_it_gives_nobody_what_was_created_since(zone: list[Endpoint], *, is_seen: bool) -> None:
    with open_world(zone) as world:
        transfer = _clean_up(world)
        undo = None if is_seen else _undo(transfer)
        _create(world, make_record(WWW))
        before = world.reference.zone_bytes()
        if undo is None:
            world.sync()
            with pytest.raises(RefusedBySafety) as refused:
                _undo(transfer)
            assert f"{WWW} A is there now" in refused.value.happened
        else:
            run_transfer(undo.pk)
            undo.refresh_from_db()
            assert undo.status == Transfer.Status.STALE
            assert f"{WWW} A is there now" in undo.status_reason

        assert world.reference.zone_bytes() == before
        world.sync()
        assert world.owner_of(WWW) == "unmanaged"


@pytest.mark.parametrize("is_seen", [True, False])
def test_it_disputes_nothing_that_was_given_away_since(*, is_seen: bool) -> None:
    with open_world(_SUPERSEDED) as world:
        transfer = _clean_up(world)
        undo = None if is_seen else _undo(transfer)
        rewrite(world, f"a-{WWW}", "TXT", _OF_BLUE.replace(BLUE, GREEN))
        before = world.reference.zone_bytes()
        if undo is None:
            _accept_any_refusal(world)
            with pytest.raises(RefusedBySafety):
                _undo(transfer)
        else:
            run_transfer(undo.pk)
            undo.refresh_from_db()
            assert undo.status == Transfer.Status.STALE

        assert world.reference.zone_bytes() == before


def _accept_any_refusal(world: World) -> None:
    """One owner of one changed is a suspicious share: a person looks, and says yes."""
    sync_provider(world.provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.PERSON)
    accept_held_snapshot(SYSTEM, HeldSnapshot.objects.get().pk, reason="Green has it.")
    world.sync()
