"""Whatever the provider and the registry stores do, in whatever order: what must always hold, holds."""

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from providers.wire.canonical_name import endpoint_key
from registry_app.models import Transfer, TransferItem, TransferStep
from registry_app.queries.write_invariants import TRANSFER_INVARIANTS
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.item_plan import key_of
from registry_app.transfer.send.run_transfer import run_transfer
from tests.depth import SEED, TRANSFER_SCHEDULES_ACROSS_REGISTRIES, deep_after
from tests.emptying import empty_database
from tests.registry_app.transfer.registries import READ_FAULTS, WRITE_FAULTS
from tests.registry_app.transfer.two_registries import PAIRS, RECORDS, Two, open_two, undo
from tests.registry_app.transfer.world import BLUE, GREEN, ask, make_alice, plan, request

pytestmark = pytest.mark.one_database

_PARTS = 4
_MOVING = (Transfer.Status.APPROVED, Transfer.Status.SENDING, Transfer.Status.SENT)
_EXPECTED = {"transfer": GREEN, "reformat": BLUE, "release": ""}
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Scene:
    """Which registries, what is asked, and what goes wrong: (whose registry, write or read, which fault)."""

    pair: tuple[str, str]
    kind: str
    batch_size: int
    faults: tuple[tuple[str, str, str], ...]


_write = st.tuples(
    st.sampled_from(["blue", "green"]), st.just("write"), st.sampled_from(sorted(WRITE_FAULTS))
)
_read = st.tuples(
    st.sampled_from(["blue", "green"]),
    st.just("read"),
    st.sampled_from(["none", "none", *sorted(READ_FAULTS)]),
)
SCENES = st.builds(
    Scene,
    pair=st.sampled_from(PAIRS),
    kind=st.sampled_from(["transfer", "transfer", "reformat", "release"]),
    batch_size=st.integers(1, 3),
    faults=st.lists(_write | _read, max_size=8).map(tuple),
)


@pytest.mark.random
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("part", deep_after(1, range(_PARTS)))
def test_what_must_always_hold_holds(part: int) -> None:
    @seed(SEED + part)
    @settings(
        max_examples=max(1, TRANSFER_SCHEDULES_ACROSS_REGISTRIES // _PARTS),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(SCENES)
    def check(scene: Scene) -> None:
        _check_schedule(scene)

    check()


def _check_schedule(scene: Scene) -> None:
    # What the schedules before left would be read for every question.
    empty_database()
    alice = make_alice()
    with open_two(*scene.pair, name=f"zone-{next(_numbers)}", batch_size=scene.batch_size) as two:
        before = two.contents()
        asked = Selection(name_suffix="example.org", provider_id=two.world.provider.pk)
        if scene.kind == "reformat":
            two.let_blue_use_the_other()
        if not plan(alice, ask(scene.kind, asked)).included:
            return
        transfer = request(alice, ask(scene.kind, asked))
        for whose, kind, name in scene.faults:
            {"blue": two.blue, "green": two.green}[whose].plan_fault(kind, name)

        _run_until_it_ends(transfer)

        two.clear_faults()
        _check_statuses_tell_the_truth(two, transfer, before)
        _check_claims_at_every_instant(two, scene.kind)
        _check_nothing_was_sent_that_was_not_stored(two, transfer)
        assert [each.id for each in TRANSFER_INVARIANTS if each.find() is not None] == []
        if transfer.status in (Transfer.Status.VERIFIED, Transfer.Status.FAILED) and _has_verified(transfer):
            two.world.sync()
            undone = undo(alice, transfer)
            assert undone.status == Transfer.Status.VERIFIED, undone.status_reason
            assert two.contents() == before


def _run_until_it_ends(transfer: Transfer) -> None:
    for _ in range(20):
        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        if transfer.status not in _MOVING:
            return
    raise AssertionError(f"still {transfer.status}: {transfer.status_reason}")


def _has_verified(transfer: Transfer) -> bool:
    return transfer.items.filter(status=TransferItem.Status.VERIFIED).exists()


def _check_statuses_tell_the_truth(two: Two, transfer: Transfer, before: object) -> None:
    """I6: verified is what is shown; failed and stale is what was shown before."""
    claims = two.claims()
    untouched = True
    for item in transfer.items.all():
        texts = claims.get(key_of(item), [])
        found = [text.split("owner=")[1].split(",")[0] for text in texts]
        if item.status == TransferItem.Status.VERIFIED:
            expected = _EXPECTED[transfer.kind]
            assert found == ([expected] if expected else [])
            untouched = False
        elif item.status in (TransferItem.Status.FAILED, TransferItem.Status.STALE):
            assert found == [BLUE]
        else:
            assert item.status == TransferItem.Status.NEEDS_OPERATOR
            assert item.status_reason
            assert transfer.status == Transfer.Status.NEEDS_OPERATOR
            untouched = False
    if untouched:
        assert two.contents() == before


def _check_claims_at_every_instant(two: Two, kind: str) -> None:
    """I10 over the zone and all stores taken together, and I11: nothing but claims is ever another."""
    records = {endpoint_key(each): each for each in RECORDS}
    for moment in two.moments:
        assert moment.records == records
        if kind != "release":
            assert moment.claimed >= records.keys()


def _check_nothing_was_sent_that_was_not_stored(two: Two, transfer: Transfer) -> None:
    """I5, and no step was sent twice."""
    steps = TransferStep.objects.filter(transfer=transfer, registry_profile=None)
    stored = list(steps.values_list("change_set", flat=True))
    sent = [entry.body.decode() for entry in two.reference.history.requests("POST /records")]
    through_stores = {"aws-sd"} & {two.blue.kind, two.green.kind}
    for body in set(sent) if not through_stores else ():
        assert sent.count(body) <= stored.count(body)
