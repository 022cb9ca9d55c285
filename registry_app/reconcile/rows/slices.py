"""A large difference in several short transactions, each fenced by the lease's epoch."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from django.db import transaction

from registry_app.crash_point import crash_point
from registry_app.reconcile.lease import Lease, raise_if_lost, renew_lease

_T = TypeVar("_T")


@dataclass(frozen=True)
class Write:
    """A few hundred rows or so, written by calling `store` inside a transaction."""

    rows: int
    store: Callable[[], None]


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
            with transaction.atomic():
                lease = renew_lease(lease)
                _store_all(waiting)
            crash_point("sync.between_slices")
            waiting = []
        waiting.append(write)
    with transaction.atomic():
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
