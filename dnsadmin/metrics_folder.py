"""Where the processes of one role count together: a folder in the state folder while the role runs."""

import os
import shutil
import socket

from dnsadmin.env import STATE_DIR

# The library reads it when it is imported.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


def make_metrics_folder(role: str) -> str:
    """An empty folder for this process and all that it starts. Those of ended processes are removed."""
    folder = STATE_DIR / "metrics"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Several machines may share a state folder, and have the same process ids.
    prefix = f"{socket.gethostname()}-{role}-"
    for left in folder.glob(f"{prefix}*"):
        if not _is_running(left.name.removeprefix(prefix)):
            shutil.rmtree(left, ignore_errors=True)
    own = folder / f"{prefix}{os.getpid()}"
    own.mkdir(mode=0o700)
    return str(own)


def _is_running(text: str) -> bool:
    """Whether another process has this id."""
    if not text.isdecimal() or int(text) == os.getpid():
        return False
    try:
        os.kill(int(text), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it is another user's
    return True
