"""A worker killed with -9 at any moment, in any kind of transfer: what must always hold, holds."""

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from providers.backends.memory import ApplyMode
from providers.wire.endpoint import Endpoint
from registry_app.models import Instance, Provider, RegistryProfile, Transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.depth import KILLS, SEED, deep_after
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.forking import Forks
from tests.registry_app.transfer.holding import check_all_holds
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    ask,
    make_alice,
    open_world,
    plan,
    register_owner,
    request,
    undo_reviewed,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.random]

_NAMES = [f"app-{number}.example.org" for number in range(4)]
_MOVING = (Transfer.Status.APPROVED, Transfer.Status.SENDING, Transfer.Status.SENT)
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Scene:
    """A kind of transfer at a kind of provider."""

    kind: str
    mode: ApplyMode = ApplyMode.ATOMIC
    write_mode: str = Provider.WriteMode.ATOMIC
    prefix: str = ""
    claim: Callable[[str], list[Endpoint]] = lambda name: [make_claim(name)]
    is_undone: bool = False


def _legacy(name: str) -> list[Endpoint]:
    return [make_record(name, "TXT", (f'"heritage=external-dns,external-dns/owner={BLUE}"',))]


def _both(name: str) -> list[Endpoint]:
    return [make_claim(name), *_legacy(name)]


_SCENES = {
    "transfer": Scene("transfer"),
    "transfer to another prefix": Scene("transfer", prefix="own-"),
    "transfer one by one": Scene(
        "transfer", ApplyMode.SEQUENTIAL, Provider.WriteMode.SEQUENTIAL, prefix="own-"
    ),
    "transfer by exact values": Scene("transfer", ApplyMode.SKIP_UNMATCHED, Provider.WriteMode.VALUE_EXACT),
    "reformat under another prefix": Scene("reformat", prefix="own-", claim=_legacy),
    "adopt": Scene("adopt", claim=lambda _: []),
    "release": Scene("release", ApplyMode.SEQUENTIAL),
    "clean up": Scene("clean_up", claim=_both),
    "undo": Scene("transfer", is_undone=True),
    "undo to the former prefix": Scene("transfer", prefix="own-", is_undone=True),
}
_KILLS_OF_EACH = -(-KILLS // len(_SCENES))


@pytest.mark.parametrize("title", deep_after(1, _SCENES))
def test_what_must_always_hold_holds(forks: Forks, title: str) -> None:
    scene, chance = _SCENES[title], random.Random(f"{SEED} {title}")
    full = _run_whole(forks, scene)
    for number in range(_KILLS_OF_EACH):
        moment = chance.uniform(0, full)
        try:
            _kill_at(forks, scene, moment)
        except AssertionError as error:
            error.add_note(
                f"DNSADMIN_TEST_SEED={SEED}: kill {number} of {title!r}, at {moment:.4f} of {full:.4f} s"
            )
            raise


def _run_whole(forks: Forks, scene: Scene) -> float:
    """How long it takes when nobody kills it."""
    with _asked(scene) as (world, reference, transfer):
        ending = forks.act("run", transfer.pk)

        assert ending.code == 0
        check_all_holds(world, reference, transfer)
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        return ending.seconds


def _kill_at(forks: Forks, scene: Scene, moment: float) -> None:
    with _asked(scene) as (world, reference, transfer):
        forks.act("run", transfer.pk, kill_after=moment)
        _resume_until_it_ends(transfer)

        check_all_holds(world, reference, transfer)


def _resume_until_it_ends(transfer: Transfer) -> None:
    """As the scheduler does once the dead worker's lease is over."""
    for _ in range(20):
        a_moment_ago = timezone.now() - timedelta(seconds=1)
        Provider.objects.filter(lease_until__isnull=False).update(lease_until=a_moment_ago)
        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        if transfer.status not in _MOVING:
            return
    raise AssertionError(f"still {transfer.status}: {transfer.status_reason}")


@contextmanager
def _asked(scene: Scene) -> Iterator[tuple[World, RecordingProvider, Transfer]]:
    """A world in which a transfer was approved, and what was recorded before it is forgotten."""
    alice, name = make_alice(), f"zone-{next(_numbers)}"
    zone = [make_record("spf.example.org", "TXT", ('"v=spf1 -all"',)), make_record("beside.example.net")]
    for each in _NAMES:
        zone += [make_record(each), *scene.claim(each)]
    values: dict[str, Any] = {"write_mode": scene.write_mode, "batch_size": 2}
    Instance.objects.update(registry_profile=None)
    with open_world(zone, mode=scene.mode, name=name, reference_type=RecordingProvider, **values) as world:
        assert isinstance(world.reference, RecordingProvider)
        _register_profile(scene)
        selection = Selection(name_suffix="example.org", provider_id=world.provider.pk, states=_states(scene))
        text = plan(alice, ask(scene.kind, selection)).confirmation_text
        transfer = request(alice, ask(scene.kind, selection, confirmation=text))
        if scene.is_undone:
            run_transfer(transfer.pk)
            text = preview_undo(alice, transfer.public_id).confirmation_text
            transfer = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=text)
            world.reference.forget()
        yield world, world.reference, transfer


def _states(scene: Scene) -> tuple[str, ...]:
    if scene.kind == "adopt":
        return ("unmanaged",)
    return ("superseded",) if scene.kind == "clean_up" else ("owned",)


def _register_profile(scene: Scene) -> None:
    if scene.prefix:
        profile, _ = RegistryProfile.objects.get_or_create(name="own", defaults={"prefix": scene.prefix})
        register_owner(BLUE if scene.kind == "reformat" else GREEN, registry_profile=profile)
