"""Rows are written in bulk by statements of our own: values arrive as they are, and constraints hold."""

import pytest
from django.db import IntegrityError, transaction

from registry_app.models import TransferItem
from registry_app.reconcile.rows.bulk import Value, insert_rows, json_text, update_rows
from tests.registry_app.transfer.world import ask, make_alice, open_world, request

pytestmark = pytest.mark.django_db(transaction=True)

_ODD = ['{"a", NULL} \\ \'"', "", "NULL", "ü\n"]


def test_each_row_gets_its_own_values_however_odd() -> None:
    with open_world():
        transfer = request(make_alice(), ask())
    first, second, third = transfer.items.order_by("ordinal")[:3]

    columns = ("before", "status_reason", "record_before", "is_added")
    rows = [
        (json_text(_ODD), _ODD[0], None, True, first.pk),
        (json_text([]), _ODD[3], json_text({"a": _ODD}), False, second.pk),
    ]
    with transaction.atomic():
        update_rows(TransferItem, columns, rows)

    values = dict(transfer.items.values_list("pk", "status_reason"))
    one, other = (TransferItem.objects.get(pk=each.pk) for each in (first, second))
    assert (one.before, one.record_before, one.is_added) == (_ODD, None, True)
    assert (other.before, other.record_before, other.is_added) == ([], {"a": _ODD}, False)
    assert (values[first.pk], values[second.pk], values[third.pk]) == (_ODD[0], _ODD[3], "")


def test_a_name_that_another_open_transfer_has_is_refused() -> None:
    with open_world():
        transfer = request(make_alice(), ask())
    held = transfer.items.exclude(lock_key=None).values_list("lock_key", flat=True)[0]
    values: dict[str, Value] = {
        "transfer_id": transfer.pk,
        "ordinal": 1_000,
        "batch": 0,
        "name": "app.example.org",
    }
    values |= {"record_type": "A", "set_identifier": "", "before": "[]", "after": "[]", "owner_before": ""}
    values |= {"is_added": False, "verdict": "no_op", "verdict_reason": "", "status": "pending"}
    values |= {"status_reason": "", "lock_key": held}

    with pytest.raises(IntegrityError), transaction.atomic():
        insert_rows(TransferItem, tuple(values), [tuple(values.values())])

    assert not transfer.items.filter(ordinal=1_000).exists()
