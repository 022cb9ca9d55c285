"""Wait for something real in another process: look again and again, never pause for a fixed time."""

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")

_PAUSE_SECONDS = 0.05


def wait_until(look: Callable[[], Seen | None], what: str, *, seconds: float = 30.0) -> Seen:
    """The first true value of `look()`. At the deadline the test fails with `what` and what was seen last."""
    deadline = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what}; last seen: {seen!r}")
        time.sleep(_PAUSE_SECONDS)
