"""Wait for something real in another process: look again and again, never pause for a fixed time."""

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")

_FIRST_PAUSE_SECONDS = 0.05
# What takes long is looked at less often: a look is often a request, and slows what is waited for.
_LONGEST_PAUSE_SECONDS = 0.5


def wait_until(look: Callable[[], Seen | None], what: str, *, seconds: float = 30.0) -> Seen:
    """The first true value of `look()`. At the deadline the test fails with `what` and what was seen last."""
    deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE_SECONDS
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what}; last seen: {seen!r}")
        time.sleep(pause)
        pause = min(1.2 * pause, _LONGEST_PAUSE_SECONDS)
