"""How much time is left for a request."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from threading import Thread

from django.db import connections

from registry_app.errors import DnsadminError

# The answer still has to get to the instance.
_KEPT_BACK = 1.0


class Unavailable(DnsadminError):
    """The guard does not answer now what was asked; the instance asks again at its next sync.

    ExternalDNS lives on after a 5xx, and ends after any other error: this one is always told as 503.
    """

    code = "unavailable"


class Deadline:
    """The time an instance waits for an answer, from now on."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + max(seconds - _KEPT_BACK, seconds / 2)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._ends_at

    def left(self) -> float:
        """Seconds. Raises Unavailable where there are none."""
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise Unavailable(
                "The provider did not answer within the deadline of the instance.",
                todo="Raise the timeouts of the instance and the deadline of its guard endpoint.",
            )
        return left


def run_before(deadline: Deadline, work: Callable[[], None]) -> None:
    """Do the work in a thread of its own, and wait for it until the deadline. Raises Unavailable where it is
    not done by then; it goes on. What it raises is raised here."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again by `result`
            done.set_exception(error)
        else:
            done.set_result(None)
        finally:
            connections.close_all()

    Thread(target=run, daemon=True).start()
    try:
        done.result(timeout=deadline.left())
    except FutureTimeout:
        raise Unavailable(
            "The changes are still being made or read back.", now="Some of them may have been made."
        ) from None
