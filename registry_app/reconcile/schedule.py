"""When a provider is synced next. Pure but for the dice."""

from datetime import datetime, timedelta
from random import SystemRandom

from providers.http.pause import compute_pause

LONGEST_BACKOFF = timedelta(hours=1)
_SPREAD_OF_SUCCESS = (0.9, 1.1)
_SPREAD_OF_FAILURE = (0.8, 1.2)
_dice = SystemRandom()


def compute_next_sync(now: datetime, interval_seconds: int) -> datetime:
    """After a sync that had an answer: one interval on, spread so that providers do not march in step."""
    return now + timedelta(seconds=interval_seconds) * _dice.uniform(*_SPREAD_OF_SUCCESS)


def compute_next_try(
    now: datetime, interval_seconds: int, failures: int, retry_after: float | None = None
) -> datetime:
    """After the `failures`-th failure in a row: the interval doubled each time, an hour at most (or the
    interval, if that is longer), and never before the provider asked us to come back."""
    longest = max(LONGEST_BACKOFF.total_seconds(), interval_seconds)
    pause = compute_pause(failures + 1, first=interval_seconds, longest=longest, spread=_SPREAD_OF_FAILURE)
    return now + timedelta(seconds=max(pause, retry_after or 0))
