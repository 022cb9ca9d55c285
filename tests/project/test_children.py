"""Children never outlive their parent."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dnsadmin.children import Children
from tests.waiting import wait_until

pytestmark = [pytest.mark.one_database, pytest.mark.deep]

FOREVER = [sys.executable, "-c", "import signal; signal.pause()"]
IGNORE_SIGTERM = """
import pathlib, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(sys.argv[1]).touch()
while True:
    signal.pause()
"""
START_A_CHILD = """
import os, pathlib, signal, sys
from dnsadmin.children import Children
child = Children(os.environ, pathlib.Path(sys.argv[1])).start("child", sys.argv[3:])
pathlib.Path(sys.argv[2]).write_text(str(child.process.pid))
signal.pause()
"""


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_stopping_ends_every_child(tmp_path: Path) -> None:
    children = Children(os.environ, tmp_path)
    pids = [children.start(f"child {number}", FOREVER).process.pid for number in range(3)]

    children.stop_all()

    assert not any(_is_alive(pid) for pid in pids)
    assert children.running == []


def test_a_child_that_ignores_the_polite_signal_is_killed(
    tmp_path: Path,
) -> None:
    children = Children(os.environ, tmp_path, stop_seconds=0.2)
    ready = tmp_path / "ready"
    child = children.start("stubborn", [sys.executable, "-c", IGNORE_SIGTERM, str(ready)])
    wait_until(ready.exists, "the child to ignore SIGTERM")

    children.stop_all()

    assert child.process.returncode == -signal.SIGKILL


def test_it_notices_a_child_that_ended_by_itself(tmp_path: Path) -> None:
    children = Children(os.environ, tmp_path)
    children.start("steady", FOREVER)
    children.start("short-lived", [sys.executable, "-c", "raise SystemExit(3)"])

    ended = wait_until(children.find_ended, "the short-lived child to end")

    assert (ended.name, ended.process.returncode) == ("short-lived", 3)
    children.stop_all()


def test_what_a_child_prints_goes_to_its_log(tmp_path: Path) -> None:
    children = Children(os.environ, tmp_path)
    log = tmp_path / "child.log"
    child = children.start("talker", [sys.executable, "-c", "print('hello')"], log=log)

    child.process.wait()

    assert log.read_text() == "hello\n"
    children.stop_all()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_killing_the_parent_with_9_ends_the_children(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", START_A_CHILD, str(tmp_path), str(told), *FOREVER])
    pid = int(wait_until(lambda: told.read_text() if told.exists() else None, "the child to start"))
    assert _is_alive(pid)

    parent.kill()
    parent.wait()

    wait_until(lambda: not _is_alive(pid), "the child to end", seconds=10)
