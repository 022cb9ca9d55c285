"""What `make run` assumes of its one machine, and how a command beside it comes to assume the same."""

import fcntl
import os
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

# Plain HTTP on loopback, to providers on loopback too. What the environment says comes first.
ASSUMED: Final = {
    "DNSADMIN_HTTPS": "0",
    "DNSADMIN_ALLOW_LOOPBACK": "1",
    "DNSADMIN_LOG_FORMAT": "console",
}


def lock_path(state_dir: Path) -> Path:
    """The file that a `make run` holds locked for as long as it uses a state folder."""
    return state_dir / "run.lock"


def is_running(state_dir: Path) -> bool:
    """Whether a `make run` uses this state folder now."""
    try:
        descriptor = os.open(lock_path(state_dir), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def assume_what_runs(state_dir: Path, environment: MutableMapping[str, str]) -> None:
    """For a command: see what the `make run` of this folder sees. With other settings the same provider
    would be refused here and read there."""
    if is_running(state_dir):
        for name, value in ASSUMED.items():
            environment.setdefault(name, value)
