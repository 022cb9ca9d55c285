"""A transfer that was begun and is not finished is told of, until it ends."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.models import Finding, Transfer
from registry_app.transfer.periodic_checks import note_unfinished_transfers
from registry_app.transfer.send.run_transfer import run_transfer
from tests.registry_app.transfer.world import ask, make_alice, open_world, request

pytestmark = pytest.mark.django_db(transaction=True)


def _left_behind(began: timedelta) -> Transfer:
    """A transfer whose worker died right after it began."""
    transfer = request(make_alice(), ask())
    at = timezone.now() - began
    Transfer.objects.filter(pk=transfer.pk).update(
        status=Transfer.Status.SENDING, started_at=at, updated_at=at
    )
    return transfer


def _states() -> list[str]:
    return list(Finding.objects.filter(kind=Finding.Kind.TRANSFER_STUCK).values_list("state", flat=True))


def test_after_a_quarter_of_an_hour_there_is_a_finding_once() -> None:
    with open_world(approval_policy="none"):
        _left_behind(timedelta(minutes=15, seconds=1))

        assert [note_unfinished_transfers() for _ in range(2)] == [1, 0]

        assert _states() == ["open"]


def test_before_that_there_is_none() -> None:
    with open_world(approval_policy="none"):
        _left_behind(timedelta(minutes=14, seconds=30))

        note_unfinished_transfers()

        assert _states() == []


def test_the_end_of_the_transfer_resolves_it() -> None:
    with open_world(approval_policy="none"):
        transfer = _left_behind(timedelta(minutes=16))
        note_unfinished_transfers()

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED
        assert _states() == ["resolved"]
