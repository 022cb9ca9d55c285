"""Ending with the process that started us, also if that one is killed with -9."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


class ParentGone(Exception):
    """The process we were to end with is not there any more, or cannot be watched."""


def end_with_parent(expected: int) -> None:
    """Have Linux send SIGTERM to this process when its parent ends.

    `expected` is the parent's process id, or 0 for whoever it is. Giving it closes a gap: a parent that ended
    before this call is never seen to end. Raises ParentGone then, and where this is not Linux.

    A trap for supervisors: to the kernel the parent is the thread that started the process. If that thread
    ends, the signal comes, though the rest of the parent lives on.
    """
    if sys.platform != "linux":
        raise ParentGone("Ending with the parent process works on Linux only; start without that option.")
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) != 0:
        raise ParentGone(f"The parent process cannot be watched: {os.strerror(ctypes.get_errno())}.")
    if expected and os.getppid() != expected:
        raise ParentGone(f"The parent process {expected} has ended already.")
