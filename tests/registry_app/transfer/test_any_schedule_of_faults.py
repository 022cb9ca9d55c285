"""Whatever the zone looks like and whatever the provider does: what must always hold, holds."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from providers.backends.memory import ApplyMode
from providers.registries.claim import OwnershipState, Pairing, TxtProfile
from providers.registries.encryption import encrypt_labels_text
from providers.registries.pairing import pair
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.actor import Actor
from registry_app.mirror.registries import fetch_txt_profiles
from registry_app.models import RegistryProfile, Transfer, TransferItem, TransferStep
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.depth import SEED, TRANSFER_SCHEDULES, deep_after
from tests.emptying import empty_database
from tests.faults import framing_faults, read_faults, write_faults
from tests.faults.fault import Fault
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.neighbour import Neighbour
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    ask,
    enter_world,
    make_alice,
    plan,
    register_owner,
    request,
    undo_reviewed,
)

_KEY = "0123456789abcdef0123456789abcdef"
_numbers = itertools.count(1)
# Parts run side by side where there are several processors.
_PARTS = 4
_SLOW = [HealthCheck.too_slow]
_MOVING = (Transfer.Status.APPROVED, Transfer.Status.SENDING, Transfer.Status.SENT)

WRITE_FAULTS: dict[str, Callable[[], Fault]] = {
    "none": lambda: write_faults.first_applied(1_000, 204),
    "error": write_faults.error_before_applying,
    "reset": framing_faults.reset,
    "applied then error": write_faults.applied_then_error,
    "applied then reset": write_faults.applied_then_reset,
    "first": lambda: write_faults.first_applied(1),
    "first two, success": lambda: write_faults.first_applied(2, 204),
    "nothing": write_faults.success_with_nothing_applied,
    "something else": write_faults.success_with_something_else,
    "twice": write_faults.delivered_twice,
}
READ_FAULTS: dict[str, Callable[[], Fault]] = {
    "none": read_faults.shuffled,
    "failing": lambda: read_faults.status(503),
    "empty": read_faults.empty_list,
    "reset": framing_faults.reset,
    "closed": framing_faults.closed,
}


# Writers beside us: a cluster rewrites a claim, or the new owner deletes the record set, before our request
# arrives, or before we read.
BESIDE_US = ("rewritten", "deleted")


@dataclass(frozen=True)
class Scene:
    """One provider, what stands there, what is asked, and what goes wrong."""

    claims: tuple[str, ...]
    mode: ApplyMode
    batch_size: int
    kind: str
    target: str
    writes: tuple[str, ...]
    reads: tuple[str, ...]


SCENES = st.builds(
    Scene,
    claims=st.lists(
        st.sampled_from(["new", "legacy", "both", "sealed", "prefixed", "conflict", "none"]),
        min_size=1,
        max_size=6,
    ).map(tuple),
    mode=st.sampled_from(list(ApplyMode)),
    batch_size=st.integers(1, 4),
    kind=st.sampled_from(["transfer", "transfer", "reformat", "release"]),
    target=st.sampled_from(["plain", "prefix", "key"]),
    writes=st.lists(st.sampled_from([*sorted(WRITE_FAULTS), *BESIDE_US]), max_size=6).map(tuple),
    reads=st.lists(st.sampled_from(["none", "none", "none", *READ_FAULTS, *BESIDE_US]), max_size=8).map(
        tuple
    ),
)


@pytest.mark.random
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("part", deep_after(2, range(_PARTS)))
def test_what_must_always_hold_holds(part: int) -> None:
    with RecordingProvider() as reference:

        @seed(SEED + part)
        @settings(
            max_examples=max(1, TRANSFER_SCHEDULES // _PARTS), deadline=None, suppress_health_check=_SLOW
        )
        @given(SCENES)
        def check(scene: Scene) -> None:
            _check_schedule(reference, scene)

        check()


def _check_schedule(reference: RecordingProvider, scene: Scene) -> None:
    # What the schedules before left would be read for every question.
    empty_database()
    alice = make_alice()
    _register_profiles(scene.target)
    reference.restart(_build_zone(scene), mode=scene.mode)
    world = enter_world(reference, f"zone-{next(_numbers)}", batch_size=scene.batch_size)
    before = world.zone()
    transfer = _request_what_can_be(alice, world, scene)
    if transfer is None:
        return
    neighbour = Neighbour(world)
    _plan_faults(world, scene, neighbour)

    _run_until_it_ends(world, transfer)

    _check_records_are_untouched(world, before, neighbour)
    _check_statuses_tell_the_truth(world, transfer, before, neighbour)
    _check_nothing_was_sent_that_was_not_stored(world, transfer)
    if scene.kind != "release":
        _check_claims_at_every_instant(reference, transfer, neighbour)
    reference.faults.clear()
    if not neighbour.has_acted:
        _check_an_undo_gives_back_the_bytes(alice, world, transfer, before)


def _register_profiles(target: str) -> None:
    prefixed, _ = RegistryProfile.objects.get_or_create(name="prefixed", defaults={"prefix": "own-"})
    sealed, _ = RegistryProfile.objects.get_or_create(name="sealed", defaults={"encryption_key": _KEY})
    profile = {"plain": None, "prefix": prefixed, "key": sealed}[target]
    register_owner(GREEN, registry_profile=profile)
    register_owner(BLUE, registry_profile=profile)


def _build_zone(scene: Scene) -> list[Endpoint]:
    beside = "beside.example.net"
    zone = [
        make_record("spf.example.org", "TXT", ('"v=spf1 -all"',)),
        make_record(beside),
        make_claim(beside),
    ]
    for number, style in enumerate(scene.claims):
        name = f"app-{number}.example.org"
        zone.append(make_record(name))
        zone += _build_claims(name, style)
    return zone


def _build_claims(name: str, style: str) -> list[Endpoint]:
    text = f"heritage=external-dns,external-dns/owner={BLUE},external-dns/resource=ingress/x/{name}"
    legacy = make_record(name, "TXT", (f'"{text}"',), ttl=77)
    if style == "sealed":
        return [make_record(f"a-{name}", "TXT", (f'"{encrypt_labels_text(text, _KEY.encode())}"',))]
    if style == "conflict":
        return [make_claim(name), make_record(name, "TXT", (f'"{text.replace(BLUE, "red-cluster")}"',))]
    return {
        "new": [make_claim(name)],
        "legacy": [legacy],
        "both": [make_claim(name), legacy],
        "prefixed": [make_claim(name, profile=TxtProfile(prefix="own-"))],
        "none": [],
    }[style]


def _request_what_can_be(alice: Actor, world: World, scene: Scene) -> Transfer | None:
    selection = Selection(name_suffix="example.org", provider_id=world.provider.pk)
    asked = ask(scene.kind, selection)
    found = plan(alice, asked)
    if not found.included:
        return None
    return request(alice, ask(scene.kind, selection, confirmation=found.confirmation_text))


def _plan_faults(world: World, scene: Scene, neighbour: Neighbour) -> None:
    for route, names, table in (
        ("POST /records", scene.writes, WRITE_FAULTS),
        ("GET /records", scene.reads, READ_FAULTS),
    ):
        for each in names:
            beside = each in BESIDE_US
            fault = write_faults.meanwhile(partial(neighbour.act, each)) if beside else table[each]()
            world.reference.faults.plan(route, fault)


def _run_until_it_ends(world: World, transfer: Transfer) -> None:
    """As the scheduler would, time or not: at most as often as a transfer is tried again."""
    for _ in range(20):
        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        if transfer.status not in _MOVING:
            return
    raise AssertionError(f"still {transfer.status}: {transfer.status_reason}")


def _check_records_are_untouched(
    world: World, before: dict[tuple[str, str], Endpoint], neighbour: Neighbour
) -> None:
    """I11: everything but the ownership TXT is byte-identical."""
    after = world.zone()
    stands, stood = (
        {key: each for key, each in zone.items() if key[1] != "TXT" and not neighbour.is_about(key[0])}
        for zone in (after, before)
    )
    assert stands == stood
    assert after["spf.example.org", "TXT"] == before["spf.example.org", "TXT"]


def _check_statuses_tell_the_truth(
    world: World, transfer: Transfer, before: dict[tuple[str, str], Endpoint], neighbour: Neighbour
) -> None:
    """I6: verified is what the provider shows; failed and stale is what it showed before."""
    after = world.zone()
    owners = {record.key: record for record in _pair(world).records}
    for item in transfer.items.all():
        if neighbour.is_about(item.name):
            continue
        touched = {str(each["dnsName"]) for each in (*item.before, *item.after)}
        stands = {name: after.get((name, "TXT")) for name in touched}
        stood = {name: before.get((name, "TXT")) for name in touched}
        if item.status == TransferItem.Status.VERIFIED:
            now = owners[EndpointKey(item.name, item.record_type, "")]
            expected = {"transfer": GREEN, "reformat": BLUE, "release": ""}[transfer.kind]
            assert now.owner_id == expected
            assert (now.state == OwnershipState.UNMANAGED) is (transfer.kind == "release")
            assert set(touched) >= {name for name, each in stands.items() if each}
        elif item.status in (TransferItem.Status.FAILED, TransferItem.Status.STALE):
            assert stands == stood
        else:
            assert item.status == TransferItem.Status.NEEDS_OPERATOR
            assert item.status_reason
            assert transfer.status == Transfer.Status.NEEDS_OPERATOR
    is_open = transfer.status == Transfer.Status.NEEDS_OPERATOR
    assert transfer.items.filter(lock_key__isnull=False).exists() is is_open


def _check_nothing_was_sent_that_was_not_stored(world: World, transfer: Transfer) -> None:
    """I5, and each stored step was sent once at most."""
    sent = [entry.body.decode() for entry in world.reference.history.requests("POST /records")]
    stored = list(TransferStep.objects.filter(transfer=transfer).values_list("change_set", flat=True))
    for body in set(sent):
        assert sent.count(body) <= stored.count(body)


def _check_claims_at_every_instant(
    reference: RecordingProvider, transfer: Transfer, neighbour: Neighbour
) -> None:
    """I10: nobody's record set became anybody's, however briefly."""
    keys = {
        EndpointKey(item.name, item.record_type, "")
        for item in transfer.items.all()
        if not neighbour.is_about(item.name)
    }
    profiles = fetch_txt_profiles(transfer.provider)
    for state in reference.recorded.states:
        found = {record.key: record.state for record in pair(list(state.values()), profiles).records}
        assert {key for key in keys if found[key] == OwnershipState.UNMANAGED} == set()


def _check_an_undo_gives_back_the_bytes(
    alice: Actor, world: World, transfer: Transfer, before: dict[tuple[str, str], Endpoint]
) -> None:
    verified = transfer.items.filter(status=TransferItem.Status.VERIFIED).exists()
    if transfer.status == Transfer.Status.NEEDS_OPERATOR or not verified:
        return
    world.sync()
    text = preview_undo(alice, transfer.public_id).confirmation_text
    undo = undo_reviewed(alice, transfer.public_id, reason="Back.", confirmation=text)
    _run_until_it_ends(world, undo)
    assert undo.status == Transfer.Status.VERIFIED, undo.status_reason
    assert world.zone() == before
    transfer.refresh_from_db()
    assert transfer.status == Transfer.Status.ROLLED_BACK


def _pair(world: World) -> Pairing:
    return pair(world.reference.endpoints(), fetch_txt_profiles(world.provider))
