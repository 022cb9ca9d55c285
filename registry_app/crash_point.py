"""Named places where a test may kill the process, to show that what was begun there is finished later."""

import os
import signal

from django.conf import settings


def crash_point(name: str) -> None:
    """Die by SIGKILL here if DNSADMIN_CRASH_AT names this point; otherwise nothing.

    Every call site is listed by `tests/journeys`, which kills a real process at each of them.
    """
    if settings.DNSADMIN_CRASH_AT == name:
        os.kill(os.getpid(), signal.SIGKILL)
