"""How often something that cannot be read back is tried again, and when. Pure."""

from datetime import timedelta

from providers.http import pause

MOST_ATTEMPTS = 6
_FIRST_SECONDS, _LONGEST_SECONDS = 10, 300


def compute_pause(earlier_attempts: int) -> timedelta:
    """The time to wait after an attempt failed before which `earlier_attempts` failed."""
    failures = max(earlier_attempts, 0) + 1
    return timedelta(seconds=pause.compute_pause(failures, first=_FIRST_SECONDS, longest=_LONGEST_SECONDS))
