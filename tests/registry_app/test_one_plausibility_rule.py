"""What a sync holds, no loop, transfer or resync takes for the truth."""

import random
from collections.abc import Callable, Iterable
from functools import partial

import pytest

from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.actor import SYSTEM
from registry_app.loop.session import LoopSession
from registry_app.mirror.baseline import ImplausibleResponse
from registry_app.models import Provider, SyncRun, Transfer
from registry_app.reconcile.sync import sync_provider
from registry_app.transfer.plan.transfer_request import Selection, TransferRequest
from registry_app.transfer.send.session import TransferSession
from registry_app.writes.session import leased_provider, open_session
from tests.depth import deep_after
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.world import World, ask, make_alice, open_world, request

pytestmark = pytest.mark.django_db(transaction=True)

_ZONES = 4
_MINE = "mine.example.org"


def test_a_loop_plans_nothing_from_claims_alone_that_a_sync_holds() -> None:
    with open_world(_make_zone(12)) as world:
        _remove(world, "", range(12))

        assert _is_held_by_a_loop(world.provider)
        assert _is_held_by_a_sync(world.provider)


@pytest.mark.parametrize(("count", "is_held"), [(9, False), (10, True)])
def test_an_empty_answer_of_who_may_be_empty_proves_nothing_beyond_a_few_record_sets(
    count: int, is_held: bool
) -> None:
    records = [make_record(f"app-{number}.example.org") for number in range(count)]
    with open_world(records, allow_empty=True) as world:
        world.reference.backend.apply(ChangeSet(delete=tuple(world.reference.endpoints())))

        assert _is_held_by_a_loop(world.provider) is is_held


@pytest.mark.parametrize("seed", deep_after(1, range(9)))
def test_what_a_sync_holds_for_what_is_missing_nobody_else_accepts(seed: int) -> None:
    dice = random.Random(seed)
    alice, held = make_alice(), 0
    for number in range(_ZONES):
        count = dice.choice([3, 9, 10, 14, 25])
        zone = [make_record(_MINE), make_claim(_MINE), *_make_zone(count)]
        with open_world(zone, name=f"zone-{number}") as world:
            transfer = request(alice, _ask(world))
            # Shares around the limits, of record sets, of their claims, or of both.
            shares = [dice.choice([0, 0, 0.2, 0.3, 0.35, 0.5, 0.75, 1]) for _ in ("records", "claims")]
            for prefix, share in zip(("", "a-"), shares, strict=True):
                _remove(world, prefix, dice.sample(range(count), round(share * count)))

            by_others = (
                _is_held_by_a_loop(world.provider),
                _is_held_by_a_transfer(transfer),
            )
            if _is_held_by_a_sync(world.provider):
                held += 1
                assert by_others == (True, True), f"{count} known, {shares} missing"

    assert held


def _ask(world: World) -> TransferRequest:
    return ask(selection=Selection(names=(_MINE,), provider_id=world.provider.pk))


def _make_zone(count: int) -> list[Endpoint]:
    names = [f"app-{number}.example.org" for number in range(count)]
    return [each for name in names for each in (make_record(name), make_claim(name))]


def _remove(world: World, prefix: str, numbers: Iterable[int]) -> None:
    names = {f"{prefix}app-{number}.example.org" for number in numbers}
    gone = tuple(each for each in world.reference.endpoints() if each.dns_name in names)
    world.reference.backend.apply(ChangeSet(delete=gone))


def _is_held_by_a_loop(provider: Provider) -> bool:
    with leased_provider(provider.pk, "a loop") as leased, open_session(leased, LoopSession) as session:
        return _is_implausible(session.read)


def _is_held_by_a_transfer(transfer: Transfer) -> bool:
    with (
        leased_provider(transfer.provider_id, "a transfer") as leased,
        open_session(leased, partial(TransferSession, transfer=transfer)) as session,
    ):
        return _is_implausible(lambda: session.read({_MINE}))


def _is_implausible(read: Callable[[], object]) -> bool:
    try:
        read()
    except ImplausibleResponse:
        return True
    return False


def _is_held_by_a_sync(provider: Provider) -> bool:
    run = sync_provider(provider.pk, actor=SYSTEM, trigger=SyncRun.Trigger.PERSON)
    assert run is not None
    return run.status == SyncRun.Status.HELD
