"""The database's clock. All machines share it, so it decides what is due, expired or still held."""

from datetime import UTC, datetime, timedelta

from django.db import connection
from django.utils import timezone

# More than two clocks that are kept in step ever differ, and far less than any lease.
TOLERANCE = timedelta(seconds=5)
_STATEMENTS = {
    # Of the statement, not of the transaction: a transaction that waited for a lock began long ago.
    "postgresql": "SELECT clock_timestamp()",
    "sqlite": "SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')",
}


def fetch_now() -> datetime:
    """What the database's clock shows at this moment. On SQLite that is the clock of this machine."""
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENTS[connection.vendor])
        shown = cursor.fetchone()[0]
    return shown if isinstance(shown, datetime) else datetime.fromisoformat(shown).replace(tzinfo=UTC)


def measure_offset() -> timedelta:
    """How far this process's clock is ahead of the database's (behind: negative); 0 if it agrees."""
    return compare_clocks()[1]


def compare_clocks() -> tuple[datetime, timedelta]:
    """What the database's clock shows, and the offset of `measure_offset`: one statement for both."""
    before = timezone.now()
    shown = fetch_now()
    after = timezone.now()
    if shown > after:
        return shown, after - shown
    # SQLite's clock shows whole milliseconds.
    return shown, max(before - shown - timedelta(milliseconds=1), timedelta(0))
