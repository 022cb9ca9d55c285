"""The audit trail is gapless, chained, and tells when somebody touched it."""

import threading

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction

from registry_app.actor import SYSTEM, Actor
from registry_app.audit import record_audit, verify_audit
from registry_app.models import AuditEntry
from registry_app.models.audit_entry import AuditTail

ALICE = Actor(kind="user", name="alice", user_id=1)


def _record(count: int) -> None:
    group = Group.objects.create(name="team-blue")
    for number in range(count):
        with transaction.atomic():
            record_audit(ALICE, "group.changed", group, after={"number": number})


@pytest.mark.django_db
def test_it_verifies_an_untouched_chain() -> None:
    _record(5)

    fault = verify_audit()

    assert fault is None
    assert list(AuditEntry.objects.order_by("sequence").values_list("sequence", flat=True)) == [1, 2, 3, 4, 5]


@pytest.mark.django_db
def test_it_verifies_an_empty_trail() -> None:
    assert verify_audit() is None


@pytest.mark.django_db
@pytest.mark.parametrize("column", ["actor_name", "action", "object_id", "object_label", "reason"])
def test_it_finds_the_entry_of_which_one_column_was_changed(column: str) -> None:
    _record(3)
    AuditEntry.objects.filter(sequence=2).update(**{column: "someone else"})

    fault = verify_audit()

    assert fault is not None
    assert fault.sequence == 2


@pytest.mark.django_db
def test_it_finds_a_changed_value() -> None:
    _record(3)
    AuditEntry.objects.filter(sequence=2).update(after={"number": 99})

    fault = verify_audit()

    assert fault is not None
    assert (fault.sequence, "changed" in fault.problem) == (2, True)


@pytest.mark.django_db
def test_it_finds_a_removed_entry_in_the_middle() -> None:
    _record(3)
    AuditEntry.objects.filter(sequence=2).delete()

    fault = verify_audit()

    assert fault is not None
    assert fault.sequence == 2


@pytest.mark.django_db
def test_it_finds_entries_removed_from_the_end() -> None:
    _record(3)
    AuditEntry.objects.filter(sequence=3).delete()

    fault = verify_audit()

    assert fault is not None
    assert fault.sequence == 3


@pytest.mark.django_db
def test_it_finds_that_the_tail_is_gone() -> None:
    _record(2)
    AuditTail.objects.all().delete()

    assert verify_audit() is not None


@pytest.mark.django_db(transaction=True)
def test_it_refuses_to_write_outside_a_transaction() -> None:
    group = Group.objects.create(name="team-blue")

    with pytest.raises(RuntimeError, match="inside the transaction"):
        record_audit(SYSTEM, "group.changed", group)

    assert not AuditEntry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_change_that_is_rolled_back_leaves_neither_entry_nor_gap() -> None:
    group = Group.objects.create(name="team-blue")
    with transaction.atomic():
        record_audit(SYSTEM, "group.changed", group)
        transaction.set_rollback(True)

    with transaction.atomic():
        record_audit(SYSTEM, "group.changed", group)

    assert [entry.sequence for entry in AuditEntry.objects.all()] == [1]
    assert verify_audit() is None


@pytest.mark.django_db(transaction=True)
def test_writers_side_by_side_make_one_gapless_chain() -> None:
    group = Group.objects.create(name="team-blue")
    failures: list[Exception] = []

    def write() -> None:
        try:
            for _ in range(10):
                with transaction.atomic():
                    record_audit(ALICE, "group.changed", group)
        except Exception as error:  # noqa: BLE001 - reported by the assertion below
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert AuditEntry.objects.count() == 40
    assert verify_audit() is None
