"""Acts on transfers, each in a process of its own that may be killed: a warm process forks them off.

The warm process has one thread and no connection, so that a fork of it is as good as a fresh start.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from django.conf import settings

_STATE_FOLDER = "DNSADMIN_TEST_STATE_FOLDER"


@dataclass(frozen=True)
class Ending:
    """How a process ended, and after how long. `code` is negative for a signal, as in subprocess."""

    code: int
    seconds: float

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL


class Forks:
    """The warm process, from outside. `act` waits for the end of what it forks off."""

    def __init__(self, requests: IO[str], answers: IO[str]) -> None:
        self._requests = requests
        self._answers = answers

    def act(self, act: str, *arguments: Any, crash_at: str = "", kill_after: float | None = None) -> Ending:
        """`crash_at`: the named point to die at; `kill_after`: seconds until kill -9 from outside."""
        asked = {"act": act, "arguments": arguments, "crash_at": crash_at, "kill_after": kill_after}
        self._requests.write(json.dumps(asked) + "\n")
        self._requests.flush()
        return Ending(**json.loads(self._answers.readline()))


@contextmanager
def warm_process(database_url: str) -> Iterator[Forks]:
    """Start the warm process on this database; it ends when its input does.

    What its acts keep beside the database goes where this process looks for it, and is cleaned up after.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.registry_app.transfer.forking"],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "dnsadmin.settings",
            "DATABASE_URL": database_url,
            _STATE_FOLDER: str(settings.DNSADMIN_STATE_DIR),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    if process.stdin is None or process.stdout is None:
        raise ValueError("the process has no pipes")
    try:
        yield Forks(process.stdin, process.stdout)
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


def _serve() -> None:
    import django

    django.setup()
    settings.DNSADMIN_ALLOW_LOOPBACK = True
    # Its secrets were read from the folder in the environment, which has no others.
    settings.DNSADMIN_STATE_DIR = os.environ[_STATE_FOLDER]
    from tests.registry_app.transfer.acts import ACTS

    for line in sys.stdin:
        asked = json.loads(line)
        ending = _fork(ACTS[asked["act"]], asked)
        sys.stdout.write(json.dumps(ending) + "\n")
        sys.stdout.flush()
    # Taking the whole program apart at its end takes seconds.
    os._exit(0)


def _fork(act: Callable[..., object], asked: dict[str, Any]) -> dict[str, float]:
    started = time.monotonic()
    ended, ends = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ended)
        _run(act, asked)
    os.close(ends)
    # Readable once the child, the last to hold the other end, is gone.
    select.select([ended], [], [], asked["kill_after"])
    seconds = time.monotonic() - started
    if asked["kill_after"] is not None:
        os.kill(child, signal.SIGKILL)  # not waited for yet, so the id is still its own
    _, status = os.waitpid(child, 0)
    os.close(ended)
    return {"code": os.waitstatus_to_exitcode(status), "seconds": seconds}


def _run(act: Callable[..., object], asked: dict[str, Any]) -> None:
    settings.DNSADMIN_CRASH_AT = asked["crash_at"]
    code = 1
    try:
        act(*asked["arguments"])
        code = 0
    finally:
        # The end of the process, whatever happened: nothing above would tell of it, or may go on.
        if code:
            traceback.print_exc()
        os._exit(code)


if __name__ == "__main__":
    _serve()
