"""Killed with -9 inside a decision, or where a transfer does not end well: nothing is half done."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from registry_app.audit import verify_audit
from registry_app.models import AuditEntry, RegistryProfile, Transfer, TransferItem
from registry_app.queries.transfer import due_transfers
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.faults import write_faults
from tests.registry_app.transfer.forking import Forks
from tests.registry_app.transfer.test_killed_workers import resume
from tests.registry_app.transfer.world import (
    GREEN,
    World,
    ask,
    make_alice,
    make_bob,
    open_world,
    register_owner,
    request,
    rewrite,
    undo_reviewed,
)

pytestmark = pytest.mark.django_db(transaction=True)

STATUS = Transfer.Status
# (the act, its arguments after the person and the transfer, the point, what it comes to when done again)
DECISIONS: list[tuple[str, tuple[str, ...], str, str]] = [
    ("approve", (), "transfer.becoming_approved", STATUS.APPROVED),
    ("reject", (), "transfer.becoming_rejected", STATUS.REJECTED),
    ("cancel", (), "transfer.becoming_cancelled", STATUS.CANCELLED),
]


@pytest.mark.parametrize(("act", "more", "crash_at", "status"), DECISIONS)
def test_a_decision_that_was_cut_off_was_not_taken_and_can_be_taken_again(
    forks: Forks, act: str, more: tuple[str, ...], crash_at: str, status: str
) -> None:
    alice, bob = make_alice(), make_bob()
    with open_world(approval_policy="other_person"):
        transfer = request(alice, ask())
        by = alice if act == "cancel" else bob

        assert forks.act(act, by.user_id, transfer.pk, *more, crash_at=crash_at).was_killed
        cut_off = _rows(transfer)
        ended = forks.act(act, by.user_id, transfer.pk, *more)

        assert cut_off == (STATUS.REQUESTED, 10, ["transfer.requested"])
        assert ended.code == 0
        transfer.refresh_from_db()
        assert transfer.status == status
        assert verify_audit() is None


def test_an_expiry_that_was_cut_off_comes_with_the_next_sweep(forks: Forks) -> None:
    alice = make_alice()
    with open_world(approval_policy="other_person"):
        transfer = request(alice, ask())
        Transfer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

        assert forks.act("expire", crash_at="transfer.becoming_expired").was_killed
        cut_off = _rows(transfer)
        assert forks.act("expire").code == 0

        assert cut_off == (STATUS.REQUESTED, 10, ["transfer.requested"])
        assert _rows(transfer) == (STATUS.EXPIRED, 0, ["transfer.requested", "transfer.expired"])
        assert verify_audit() is None


def test_a_request_that_was_cut_off_left_nothing(forks: Forks) -> None:
    alice = make_alice()
    with open_world():
        assert forks.act("request", alice.user_id, crash_at="transfer.storing").was_killed

        assert not Transfer.objects.exists()
        assert not TransferItem.objects.exists()
        assert verify_audit() is None
        assert request(alice, ask()).status == STATUS.APPROVED


def test_a_request_without_a_response_is_stored_once(forks: Forks) -> None:
    alice = make_alice()
    with open_world() as world:
        assert forks.act("request", alice.user_id, crash_at="transfer.requested").was_killed
        again = forks.act("request", alice.user_id)

        transfer = Transfer.objects.get()
        assert again.code != 0
        run_transfer(transfer.pk)
        assert world.owner_of("app-00000.example.org") == "green-cluster"


def test_an_operators_decision_that_was_cut_off_was_not_taken(forks: Forks) -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = _stuck(world)

        act = ("decide", alice.user_id, transfer.pk, "keep_as_is")
        assert forks.act(*act, crash_at="transfer.deciding").was_killed
        transfer.refresh_from_db()
        cut_off = transfer.status
        assert forks.act(*act).code == 0

        transfer.refresh_from_db()
        assert (cut_off, transfer.status) == (STATUS.NEEDS_OPERATOR, STATUS.FAILED)
        assert verify_audit() is None


def _rewritten(world: World) -> None:
    rewrite(world, "app-00004.example.org", "A", "192.0.2.99")


def _refusing(world: World) -> None:
    world.reference.faults.plan("POST /records", write_faults.error_before_applying())


def _obstinate(world: World) -> None:
    world.reference.faults.plan("POST /records", write_faults.success_with_something_else())


ENDS: list[tuple[str, Callable[[World], None], str]] = [
    ("transfer.becoming_stale", _rewritten, STATUS.STALE),
    ("transfer.becoming_failed", _refusing, STATUS.FAILED),
    ("transfer.becoming_needs_operator", _obstinate, STATUS.NEEDS_OPERATOR),
]


@pytest.mark.parametrize(("crash_at", "spoil", "status"), ENDS)
def test_an_end_that_was_cut_off_is_come_to_again(
    forks: Forks, crash_at: str, spoil: Callable[[World], None], status: str
) -> None:
    alice = make_alice()
    with open_world() as world:
        transfer = request(alice, ask())
        spoil(world)

        assert forks.act("run", transfer.pk, crash_at=crash_at).was_killed
        resume(transfer)

        assert transfer.status == status, transfer.status_reason
        assert len(world.change_sets()) == (0 if status == STATUS.STALE else 1)
        assert verify_audit() is None


def test_an_undo_and_what_it_undoes_end_together(forks: Forks) -> None:
    alice = make_alice()
    with open_world() as world:
        before = world.zone()
        original = request(alice, ask())
        run_transfer(original.pk)
        text = preview_undo(alice, original.public_id).confirmation_text
        undo = undo_reviewed(alice, original.public_id, reason="Back.", confirmation=text)

        assert forks.act("run", undo.pk, crash_at="transfer.becoming_rolled_back").was_killed
        original.refresh_from_db()
        cut_off = original.status
        resume(undo)

        original.refresh_from_db()
        assert (cut_off, original.status) == (STATUS.VERIFIED, STATUS.ROLLED_BACK)
        assert undo.status == STATUS.VERIFIED
        assert world.zone() == before
        assert verify_audit() is None


@pytest.mark.parametrize("phase", ["write", "remove"])
def test_a_worker_that_dies_while_it_calls_off_what_another_stored(forks: Forks, phase: str) -> None:
    alice = make_alice()
    profile = RegistryProfile.objects.create(name="green's", prefix="own-")
    with open_world() as world:
        register_owner(GREEN, registry_profile=profile)
        transfer = request(alice, ask())

        assert forks.act("run", transfer.pk, crash_at=f"transfer.{phase}_stored").was_killed
        _let_lease_pass(world)
        assert forks.act("run", transfer.pk, crash_at=f"transfer.{phase}_called_off").was_killed
        resume(transfer)

        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert len(world.change_sets()) == 2


def test_a_worker_that_dies_once_it_reopened_a_late_arrival_left_it_to_the_next(forks: Forks) -> None:
    with open_world() as world:
        transfer = request(make_alice(), ask())
        world.reference.faults.plan("POST /records", write_faults.applied_late(reads=1_000, code=204))
        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        assert transfer.status == STATUS.FAILED
        world.reference.faults.deliver_late()
        world.sync()

        act = ("reopen_if_applied_late", world.provider.pk)
        assert forks.act(*act, crash_at="transfer.reopened").was_killed
        cut_off = _rows(transfer)
        for pk in due_transfers():
            run_transfer(pk)

        assert cut_off[:2] == (STATUS.SENT, 10)
        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert len(world.change_sets()) == 1
        assert verify_audit() is None


POINTS = {
    *(crash_at for _, _, crash_at, _ in DECISIONS),
    *(crash_at for crash_at, _, _ in ENDS),
    "transfer.becoming_expired",
    "transfer.becoming_rolled_back",
    "transfer.remove_called_off",
    "transfer.write_called_off",
    "transfer.deciding",
    "transfer.reopened",
    "transfer.requested",
    "transfer.storing",
}


def _rows(transfer: Transfer) -> tuple[Any, ...]:
    """Status, names that are locked, and what the audit trail says of it."""
    transfer.refresh_from_db()
    actions = AuditEntry.objects.filter(object_type="transfer", object_id=str(transfer.pk))
    return (
        transfer.status,
        transfer.items.filter(lock_key__isnull=False).count(),
        list(actions.order_by("sequence").values_list("action", flat=True)),
    )


def _stuck(world: World) -> Transfer:
    transfer = request(make_alice(), ask())
    _obstinate(world)
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    assert transfer.status == STATUS.NEEDS_OPERATOR
    return transfer


def _let_lease_pass(world: World) -> None:
    world.provider.refresh_from_db()
    world.provider.lease_until = timezone.now() - timedelta(seconds=1)
    world.provider.save(update_fields=["lease_until"])
