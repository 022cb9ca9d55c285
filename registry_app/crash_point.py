"""Named places where a test may kill the process, to show that what was begun there is finished later."""

import os
import signal
from pathlib import Path

from django.conf import settings


def crash_point(name: str) -> None:
    """Die by SIGKILL here if DNSADMIN_CRASH_AT names this point; otherwise nothing.

    With DNSADMIN_CRASH_ONCE, the path of a file, only the first process to get here dies: it creates the
    file, and those that come after it live. The tests of `reconcile` and `transfer` kill a real process at
    each point.
    """
    if name == settings.DNSADMIN_CRASH_AT and _is_first():
        os.kill(os.getpid(), signal.SIGKILL)


def _is_first() -> bool:
    if not settings.DNSADMIN_CRASH_ONCE:
        return True
    try:
        Path(settings.DNSADMIN_CRASH_ONCE).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
