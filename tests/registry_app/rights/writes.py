"""What one request writes, seen and undone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

# Taken and given back while a provider is read: nothing of it stays.
_LEASE = 'UPDATE "registry_app_provider" SET "lease_'


@contextmanager
def rolled_back(before: Callable[[], object]) -> Iterator[list[str]]:
    """The statements that write, in order, once `before` was done; afterwards the database is as it was."""
    writes: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")) and not sql.startswith(_LEASE):
            writes.append(sql[:80])
        return execute(sql, params, many, context)

    with transaction.atomic():
        before()
        with connection.execute_wrapper(note):
            yield writes
        transaction.set_rollback(True)
