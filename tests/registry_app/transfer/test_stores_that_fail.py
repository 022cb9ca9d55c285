"""A registry store that somebody else writes, or that cannot be reached, in the middle of a transfer."""

from collections.abc import Callable

import pytest

from registry_app.models import RegistryProfile, Transfer, TransferItem
from registry_app.transfer.send.run_transfer import run_transfer
from tests.depth import deep_after
from tests.factories import set_instance
from tests.registry_app.transfer.registries import heritage
from tests.registry_app.transfer.two_registries import FAILING, RECORDS, RING, STORES, Two, open_two
from tests.registry_app.transfer.world import BLUE, GREEN, ask, make_alice, request

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]

_STATUS = Transfer.Status
_ITEM = TransferItem.Status
_MOVING = (_STATUS.APPROVED, _STATUS.SENDING, _STATUS.SENT)
_FAILING_RING = [(source, target) for source, target in RING if target in {"txt", *FAILING}]
WWW = RECORDS[0]


def run(transfer: Transfer) -> None:
    """As often as the scheduler would."""
    for _ in range(10):
        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        if transfer.status not in _MOVING:
            return


@pytest.mark.parametrize("kind", deep_after(1, FAILING))
def test_a_row_that_another_writer_took_before_our_write_is_left_to_it(kind: str) -> None:
    alice = make_alice()
    with open_two(kind, kind, batch_size=1) as two:
        transfer = request(alice, ask())
        first = transfer.items.order_by("ordinal").first()
        assert first is not None
        record = next(each for each in RECORDS if (each.dns_name, each.record_type) == _key(first))
        two.blue.before_next_write(lambda: two.blue.rewrite(record, "red-cluster"))

        run(transfer)

        first.refresh_from_db()
        assert transfer.status == _STATUS.FAILED, transfer.status_reason
        assert first.status == _ITEM.STALE, first.status_reason
        assert "red-cluster" in first.status_reason
        assert sorted(_texts(two)) == sorted(
            heritage("red-cluster" if each is record else GREEN, each.dns_name) for each in RECORDS
        )


@pytest.mark.parametrize(("source", "target"), deep_after(1, _FAILING_RING))
def test_a_registry_out_of_reach_is_waited_for_and_nothing_is_lost(source: str, target: str) -> None:
    alice = make_alice()
    with open_two(source, target) as two:
        before = two.contents()
        transfer = request(alice, ask())
        for _ in range(3):
            two.green.plan_fault("read", "failing")

        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        waiting = transfer.status, transfer.next_attempt_at, two.contents()
        run(transfer)

        assert waiting[0] == _STATUS.SENDING
        assert waiting[1] is not None
        assert waiting[2] == before
        assert transfer.status == _STATUS.VERIFIED, transfer.status_reason
        assert sorted(_texts(two)) == sorted(heritage(GREEN, each.dns_name) for each in RECORDS)


@pytest.mark.deep
@pytest.mark.parametrize(("source", "target"), _FAILING_RING)
def test_a_registry_that_refuses_for_good_leaves_every_claim_where_it_was(source: str, target: str) -> None:
    alice = make_alice()
    with open_two(source, target) as two:
        before = two.contents()
        transfer = request(alice, ask())
        for _ in range(20):
            two.green.plan_fault("write", "error")

        run(transfer)

        assert transfer.status == _STATUS.FAILED, transfer.status_reason
        assert {item.status for item in transfer.items.all()} == {_ITEM.FAILED}
        assert two.contents() == before


def _away_from_the_provider(profile: RegistryProfile) -> None:
    profile.providers.clear()


def _to_another_profile(_: RegistryProfile) -> None:
    set_instance(GREEN, registry_profile=None)


@pytest.mark.parametrize("move", deep_after(1, [_to_another_profile, _away_from_the_provider]))
@pytest.mark.parametrize("kind", deep_after(1, STORES))
def test_a_changed_registry_makes_the_approval_invalid(
    kind: str, move: Callable[[RegistryProfile], None]
) -> None:
    alice = make_alice()
    with open_two(kind, kind) as two:
        before = two.contents()
        transfer = request(alice, ask())
        move(RegistryProfile.objects.get(kind=kind))

        run(transfer)

        assert transfer.status == _STATUS.STALE, transfer.status_reason
        assert two.contents() == before


@pytest.mark.deep
@pytest.mark.parametrize("kind", STORES)
def test_a_profile_that_a_transfer_wrote_through_is_kept(kind: str) -> None:
    alice = make_alice()
    with open_two("txt", kind) as two:
        transfer = request(alice, ask())
        run(transfer)

        steps = transfer.steps.order_by("pk").values_list("registry_profile__kind", "phase")

        assert set(steps) == {(kind, "write"), (None, "remove")}
        assert two.world.owner_of(WWW.dns_name) == GREEN
        assert BLUE not in str(_texts(two))


def _texts(two: Two) -> list[str]:
    return [text for texts in two.claims().values() for text in texts]


def _key(item: TransferItem) -> tuple[str, str]:
    return item.name, item.record_type
