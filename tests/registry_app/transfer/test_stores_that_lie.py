"""A registry store that shows too little in the middle of a transfer proves nothing: neither that a claim
is gone, nor that one was never written."""

from collections.abc import Callable

import pytest
from django.db import connection

from registry_app.models import RegistryProfile, Transfer, TransferItem
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests import strict_dynamodb as dynamodb
from tests.faults.fault import Fault
from tests.registry_app.reconcile.interrupting import AfterReading
from tests.registry_app.transfer.registries import heritage
from tests.registry_app.transfer.stored_registries import DynamoDbRegistry
from tests.registry_app.transfer.two_registries import RECORDS, Two, open_two
from tests.registry_app.transfer.world import BLUE, GREEN, ask, make_alice, request

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

_STATUS = Transfer.Status
WWW = RECORDS[0]
ONLY_WWW = Selection(names=(WWW.dns_name,))


def empty_once(table: DynamoDbRegistry, is_time: Callable[[], bool]) -> Callable[[], None]:
    """When it is time, one reading shows nothing, as that of a replica made anew would."""
    planned: list[Fault] = []

    def plan() -> None:
        if not planned and is_time():
            planned.append(dynamodb.body(b'{"Items":[],"Count":0,"ScannedCount":0}'))
            table.plan_read(planned[0])

    return plan


def table_of(two: Two) -> DynamoDbRegistry:
    assert isinstance(two.blue, DynamoDbRegistry)
    return two.blue


def test_an_emptied_store_is_waited_for_before_anything_is_sent() -> None:
    alice = make_alice()
    with open_two("dynamodb", "txt") as two:
        before = two.reference.zone_bytes()
        transfer = request(alice, ask(selection=ONLY_WWW))
        table_of(two).lose_all()

        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        waiting, reason = transfer.status, transfer.status_reason
        for each in RECORDS:
            two.blue.put(each, BLUE)
        run_transfer(transfer.pk)
        transfer.refresh_from_db()

        assert waiting == _STATUS.SENDING
        assert "All 1 known claims are gone" in reason
        assert two.reference.zone_bytes() != before
        assert transfer.status == _STATUS.VERIFIED, transfer.status_reason
        assert two.world.owner_of(WWW.dns_name) == GREEN


def test_a_row_that_is_gone_with_all_others_is_not_taken_for_removed() -> None:
    alice = make_alice()
    with open_two("dynamodb", "txt") as two:
        transfer = request(alice, ask(selection=ONLY_WWW))
        two.blue.before_next_write(table_of(two).lose_all)

        for _ in range(3):
            run_transfer(transfer.pk)
        transfer.refresh_from_db()

        statuses = set(transfer.items.values_list("status", flat=True))
        assert transfer.status == _STATUS.SENDING
        assert TransferItem.Status.VERIFIED not in statuses
        assert "known claims are gone" in transfer.status_reason


def _another_account(profile: RegistryProfile) -> None:
    RegistryProfile.objects.filter(pk=profile.pk).update(access_key_id="AKIAOTHERACCOUNT0000")


def _another_region(profile: RegistryProfile) -> None:
    RegistryProfile.objects.filter(pk=profile.pk).update(region="eu-west-3")


@pytest.mark.parametrize("move", [_another_account, _another_region])
def test_a_table_that_may_be_another_one_by_now_makes_the_approval_invalid(
    move: Callable[[RegistryProfile], None],
) -> None:
    alice = make_alice()
    with open_two("dynamodb", "txt") as two:
        before = two.contents()
        transfer = request(alice, ask())
        move(RegistryProfile.objects.get(kind="dynamodb"))

        run_transfer(transfer.pk)
        transfer.refresh_from_db()

        assert transfer.status in (_STATUS.STALE, _STATUS.FAILED)
        assert "changed after this was reviewed" in transfer.status_reason
        assert two.contents() == before


def test_a_table_that_becomes_another_one_while_it_is_opened_is_not_written() -> None:
    alice = make_alice()
    with open_two("txt", "dynamodb") as two:
        before = two.contents()
        transfer = request(alice, ask())

        def move_the_table() -> None:
            RegistryProfile.objects.filter(kind="dynamodb").update(table="another")

        checked = ') AND "registry_app_registryprofile_providers"."provider_id" = '
        move = AfterReading(checked, move_the_table)

        with connection.execute_wrapper(move):
            run_transfer(transfer.pk)
        transfer.refresh_from_db()

        assert "The table of the registry profile" in transfer.status_reason
        assert move.happen is None
        assert transfer.status in (_STATUS.STALE, _STATUS.FAILED)
        assert two.contents() == before


def test_batches_to_come_vouch_for_a_store_whose_rows_are_all_in_the_transfer() -> None:
    alice = make_alice()
    with open_two("dynamodb", "dynamodb", batch_size=1) as two:
        table = table_of(two)
        transfer = request(alice, ask("release"))
        two.blue.watch(empty_once(table, lambda: True))

        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        waiting, reason = transfer.status, transfer.status_reason
        standing = len(table.claims())
        verified = transfer.items.filter(status=TransferItem.Status.VERIFIED).count()
        two.clear_faults()
        run_transfer(transfer.pk)
        transfer.refresh_from_db()

        assert (standing, verified) == (len(RECORDS) - 1, 0)
        assert waiting == _STATUS.SENDING
        assert "shows no claim at all" in reason
        assert transfer.status == _STATUS.VERIFIED, transfer.status_reason
        assert table.claims() == {}


def test_rows_that_were_read_back_before_vouch_for_the_last_batch() -> None:
    alice = make_alice()
    with open_two("dynamodb", "dynamodb", batch_size=1) as two:
        table = table_of(two)
        transfer = request(alice, ask())
        two.blue.watch(empty_once(table, lambda: _all_are_greens(table)))

        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        waiting, reason = transfer.status, transfer.status_reason
        two.clear_faults()
        run_transfer(transfer.pk)
        transfer.refresh_from_db()

        assert waiting == _STATUS.SENDING
        assert "shows no claim at all" in reason
        assert transfer.status == _STATUS.VERIFIED, transfer.status_reason
        assert {text for texts in table.claims().values() for text in texts} == {
            heritage(GREEN, each.dns_name) for each in RECORDS
        }


def test_the_only_row_of_a_store_is_released_and_its_empty_table_accepted() -> None:
    alice = make_alice()
    with open_two("dynamodb", "dynamodb", batch_size=3) as two:
        transfer = request(alice, ask("release"))

        run_transfer(transfer.pk)
        transfer.refresh_from_db()

        assert transfer.status == _STATUS.VERIFIED, transfer.status_reason
        assert table_of(two).claims() == {}
        assert two.world.owner_of(WWW.dns_name) == "unmanaged"


def _all_are_greens(table: DynamoDbRegistry) -> bool:
    return all(GREEN in text for texts in table.claims().values() for text in texts)
