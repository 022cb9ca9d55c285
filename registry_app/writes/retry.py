"""How often something that cannot be read back is tried again, and when. Pure."""

from datetime import timedelta

MOST_ATTEMPTS = 6
_FIRST_PAUSE = timedelta(seconds=10)
_LONGEST_PAUSE = timedelta(minutes=5)


def compute_pause(earlier_attempts: int) -> timedelta:
    """The time to wait after an attempt failed before which `earlier_attempts` failed."""
    return min(_FIRST_PAUSE * (1 << max(earlier_attempts, 0)), _LONGEST_PAUSE)
