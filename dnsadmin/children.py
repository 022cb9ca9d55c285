"""Child processes that never outlive their parent, whatever happens to it."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """Ask Linux to end this process when its parent dies: kill -9 of a parent runs none of its code. It takes
    every signal, whichever its parent waits for."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@dataclass
class Child:
    """One running child, in a process group of its own: a terminal's Ctrl-C reaches the parent alone."""

    name: str
    process: subprocess.Popen[bytes]


@dataclass
class Children:
    """The children of one parent; `stop_all` ends the last started first: nothing loses its broker."""

    environment: Mapping[str, str]
    folder: Path
    stop_seconds: float = 20.0
    running: list[Child] = field(default_factory=list)

    def start(self, name: str, command: Sequence[str], *, log: Path | None = None) -> Child:
        """Start a command. With `log`, what it prints is appended there instead of shown."""
        output = None if log is None else log.open("ab")
        try:
            process = subprocess.Popen(  # noqa: S603 - our own command lines
                list(command),
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=None if output is None else subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - the parent is single-threaded here
            )
        finally:
            if output is not None:
                output.close()
        child = Child(name, process)
        self.running.append(child)
        return child

    def find_ended(self) -> Child | None:
        """A child that ended by itself, if any did."""
        return next((child for child in self.running if child.process.poll() is not None), None)

    def stop_all(self) -> None:
        """End every child and what it started: SIGTERM, and SIGKILL for what is left after a while."""
        while self.running:
            child = self.running.pop()
            _signal(child, signal.SIGTERM)
            try:
                child.process.wait(timeout=self.stop_seconds)
            except subprocess.TimeoutExpired:
                _signal(child, signal.SIGKILL)
                child.process.wait()
            _end_group(child)


def _signal(child: Child, number: signal.Signals) -> None:
    if child.process.poll() is None:
        child.process.send_signal(number)


def _end_group(child: Child) -> None:
    """Kill what a child left behind in its group."""
    for _ in range(20):
        try:
            os.killpg(child.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        time.sleep(0.05)
