"""A registry store that shows too little in the middle of a transfer proves nothing: neither that a claim
is gone, nor that one was never written."""

from collections.abc import Callable

import pytest
from django.db import connection

from registry_app.models import RegistryProfile, Transfer, TransferItem
from registry_app.transfer.run_transfer import run_transfer
from registry_app.transfer.selection import Selection
from tests.registry_app.reconcile.interrupting import AfterReading
from tests.registry_app.transfer.stored_registries import DynamoDbRegistry
from tests.registry_app.transfer.two_registries import RECORDS, Two, open_two
from tests.registry_app.transfer.world import BLUE, GREEN, ask, make_alice, request

pytestmark = pytest.mark.django_db(transaction=True)

_STATUS = Transfer.Status
WWW = RECORDS[0]
ONLY_WWW = Selection(names=(WWW.dns_name,))


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
        assert "shows 0 claims beside those of this transfer, where 1 are known" in reason
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
        assert "shows 0 claims" in transfer.status_reason


def _another_account(profile: RegistryProfile) -> None:
    RegistryProfile.objects.filter(pk=profile.pk).update(access_key_id="AKIAOTHERACCOUNT0000")


def _another_region(profile: RegistryProfile) -> None:
    RegistryProfile.objects.filter(pk=profile.pk).update(region="eu-west-3")


@pytest.mark.parametrize("move", [_another_account, _another_region])
def test_a_table_that_may_be_another_one_by_now_voids_the_approval(
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
