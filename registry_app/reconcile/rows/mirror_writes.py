"""The writes that make the mirror match, in several short transactions, each fenced by the lease's epoch."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeVar

from django.db import transaction

from registry_app.crash_point import crash_point
from registry_app.models import Claim, RecordEvent, RecordSet
from registry_app.reconcile.kept_counts import keeping_counts, note_inserted, noting_changes
from registry_app.reconcile.lease import Lease, raise_if_lost, renew_lease
from registry_app.reconcile.rows import claim_rows, record_rows
from registry_app.reconcile.rows.bulk import insert_rows, rows_per_transaction, update_rows
from registry_app.reconcile.rows.claim_rows import ClaimRowMaker
from registry_app.reconcile.rows.record_rows import KnownRow, RowMaker, read_known_rows

_T = TypeVar("_T")

# Rows that are read before they are written; SQLite takes 250,000 ids in one IN, others far fewer.
READ_CHUNK = 500


@dataclass(frozen=True)
class Write:
    """A few hundred rows or so, written by calling `store` inside a transaction."""

    rows: int
    store: Callable[[], None]


def iterate_record_writes(rows: RowMaker, *, is_baseline: bool) -> Iterator[Write]:
    """Changed, vanished, then new record sets, each with its history (a baseline has none)."""
    for changed in in_chunks(rows.plan.changed, READ_CHUNK):
        yield Write(2 * len(changed), partial(_store_changed, rows, changed))
    for vanished in in_chunks(rows.plan.vanished, READ_CHUNK):
        yield Write(2 * len(vanished), partial(_store_vanished, rows, vanished))
    for created in in_chunks(rows.plan.created, rows_per_transaction() // 2):
        yield Write(
            len(created) * (1 if is_baseline else 2),
            partial(_store_created, rows, created, with_history=not is_baseline),
        )


def iterate_claim_writes(rows: ClaimRowMaker) -> Iterator[Write]:
    """Claims that are gone, read otherwise, or new."""
    plan = rows.plan
    for gone in in_chunks(plan.claims_gone, READ_CHUNK):
        yield Write(len(gone), partial(_delete_claims, gone))
    for changed in in_chunks(plan.claims_changed, READ_CHUNK):
        yield Write(len(changed), partial(_store_changed_claims, rows, changed))
    for created in in_chunks(plan.claims_created, rows_per_transaction() // 2):
        yield Write(len(created), partial(_store_created_claims, rows, created))


def _store_created(rows: RowMaker, created: Sequence[int], *, with_history: bool) -> None:
    inserted = [rows.inserted(index) for index in created]
    insert_rows(RecordSet, record_rows.INSERTED_COLUMNS, inserted)
    note_inserted(RecordSet, record_rows.INSERTED_COLUMNS, inserted)
    if with_history:
        insert_rows(RecordEvent, record_rows.EVENT_COLUMNS, [rows.appeared(index) for index in created])


def _store_changed(rows: RowMaker, changed: Sequence[tuple[int, int]]) -> None:
    before = _fetch_rows([pk for pk, _ in changed])
    events = [event for pk, index in changed for event in rows.changes(before[pk], index)]
    values, others = [], []
    for pk, index in changed:
        if rows.has_only_value_changed(before[pk], index):
            values.append(rows.updated_value(pk, index))
        else:
            others.append(rows.updated(pk, index))
    update_rows(RecordSet, record_rows.UPDATED_VALUE_COLUMNS, values)
    if others:
        with noting_changes(RecordSet.objects.filter(pk__among=[row[-1] for row in others])):
            update_rows(RecordSet, record_rows.UPDATED_COLUMNS, others)
    insert_rows(RecordEvent, record_rows.EVENT_COLUMNS, events)


def _store_vanished(rows: RowMaker, vanished: Sequence[int]) -> None:
    events = [rows.vanished(row) for row in _fetch_rows(vanished).values()]
    # Counted to 1 when the snapshot is accepted as a whole, so that a crash before that counts nothing.
    RecordSet.objects.filter(pk__among=vanished).update(missing_since=rows.now, missing_snapshots=0)
    insert_rows(RecordEvent, record_rows.EVENT_COLUMNS, events)


def _fetch_rows(pks: Sequence[int]) -> dict[int, KnownRow]:
    return {row.pk: row for row in read_known_rows(RecordSet.objects.filter(pk__among=pks))}


def _delete_claims(pks: Sequence[int]) -> None:
    gone = Claim.objects.filter(pk__among=pks)
    with noting_changes(gone):
        gone.delete()


def _store_changed_claims(rows: ClaimRowMaker, changed: Sequence[tuple[int, int]]) -> None:
    with noting_changes(Claim.objects.filter(pk__among=[pk for pk, _ in changed])):
        update_rows(Claim, claim_rows.UPDATED_COLUMNS, [rows.updated(pk, index) for pk, index in changed])


def _store_created_claims(rows: ClaimRowMaker, created: Sequence[int]) -> None:
    inserted = [rows.inserted(index) for index in created]
    insert_rows(Claim, claim_rows.INSERTED_COLUMNS, inserted)
    note_inserted(Claim, claim_rows.INSERTED_COLUMNS, inserted)


def store_in_slices(
    lease: Lease, writes: Iterable[Write], close: Callable[[], None], *, rows_per_transaction: int
) -> None:
    """Run all writes, and `close` in the transaction of the last of them. Raises LeaseLost.

    A crash between two transactions leaves a mirror that is partly new; `close`, which says that it is
    true now, was not run, so the next sync compares all of it again and stores the rest.
    """
    waiting: list[Write] = []
    for write in writes:
        if waiting and sum(w.rows for w in waiting) + write.rows > rows_per_transaction:
            with transaction.atomic(), keeping_counts():
                lease = renew_lease(lease)
                _store_all(waiting)
            crash_point("sync.between_slices")
            waiting = []
        waiting.append(write)
    with transaction.atomic(), keeping_counts():
        raise_if_lost(lease)
        _store_all(waiting)
        close()
        crash_point("sync.before_commit")


def in_chunks(items: Iterable[_T], size: int) -> Iterator[Sequence[_T]]:
    """The items, `size` at a time."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _store_all(writes: Iterable[Write]) -> None:
    for write in writes:
        write.store()
