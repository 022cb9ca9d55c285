"""Emptying the database after a test that commits: as Django's `flush`, at the cost of the rows there are.

`flush` writes to every table and then makes every permission anew, which takes longer than most tests. Here a
table without rows is left alone, and content types and permissions stay if they are as they were.
"""

from typing import Any

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connections, transaction
from django.test import TransactionTestCase

_KEPT = (ContentType, Permission)
# What is in the tables that are kept, by database, since it was last flushed.
_kept_rows: dict[str, list[Any]] = {}


def empty_only_what_has_rows() -> None:
    """From here on tests that commit are cleaned up after as this module does it."""
    TransactionTestCase._fixture_teardown = _tear_down  # type: ignore[attr-defined]  # not in the stubs


def empty_database(alias: str = "default") -> None:
    """Leave what `flush` leaves."""
    if alias in _kept_rows:
        _delete_rows(alias)
        if _read_kept_rows(alias) == _kept_rows[alias]:
            return
    call_command("flush", verbosity=0, interactive=False, database=alias, reset_sequences=False)
    _kept_rows[alias] = _read_kept_rows(alias)


def _tear_down(test: Any) -> None:
    for alias in test._databases_names(include_mirrors=False):
        empty_database(alias)


def _delete_rows(alias: str) -> None:
    connection = connections[alias]
    kept = {model._meta.db_table for model in _KEPT}
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = [connection.ops.quote_name(name) for name in names if name not in kept]
    # References are checked at the end of a transaction, so the order does not matter.
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT {number} WHERE EXISTS (SELECT 1 FROM {table})" for number, table in enumerate(tables)
            )
        )
        for (number,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {tables[number]}")


def _read_kept_rows(alias: str) -> list[Any]:
    return [list(model._default_manager.using(alias).order_by("pk").values_list()) for model in _KEPT]
