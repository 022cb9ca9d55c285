"""When a provider is visited next. Pure but for the dice."""

from datetime import datetime, timedelta
from random import SystemRandom

LONGEST_BACKOFF = timedelta(hours=1)
_JITTER_OF_SUCCESS = 0.1
_JITTER_OF_FAILURE = 0.2
_MOST_DOUBLINGS = 20
_dice = SystemRandom()


def compute_next_visit(now: datetime, interval_seconds: int) -> datetime:
    """After a visit that had an answer: one interval on, spread so that providers do not march in step."""
    return now + timedelta(seconds=interval_seconds) * _spread(_JITTER_OF_SUCCESS)


def compute_next_try(
    now: datetime, interval_seconds: int, failures: int, retry_after: float | None = None
) -> datetime:
    """After the `failures`-th failure in a row: the interval doubled each time, an hour at most (or the
    interval, if that is longer), and never before the provider asked us to come back."""
    interval = timedelta(seconds=interval_seconds)
    doubled = interval * (1 << min(failures, _MOST_DOUBLINGS))
    delay = min(doubled, max(LONGEST_BACKOFF, interval)) * _spread(_JITTER_OF_FAILURE)
    return now + max(delay, timedelta(seconds=retry_after or 0))


def _spread(share: float) -> float:
    return _dice.uniform(1 - share, 1 + share)
