"""The web role says why it does not start, and any number of SIGTERMs ends it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dnsadmin.free_port import find_free_port
from dnsadmin.prepare import prepare_state
from dnsadmin.roles import build_role_command
from tests.waiting import wait_until

pytestmark = [pytest.mark.one_database, pytest.mark.deep]

_TIMES = 3
_END_SECONDS = 20


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A state folder with secrets, and a database nobody migrated."""
    prepare_state(tmp_path)
    database = {"DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite3'}"}
    return {**os.environ, **database, "DNSADMIN_STATE_DIR": str(tmp_path)}


def _start_to_end(environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "dnsadmin.roles", "web"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_it_does_not_start_on_a_database_that_was_not_migrated(environment: dict[str, str]) -> None:
    done = _start_to_end({**environment, "PORT": str(find_free_port())})

    assert done.returncode == 1
    assert done.stderr.startswith("The role web did not start. The database is not migrated: it lacks ")
    assert done.stderr.rstrip().endswith("Run `python -m dnsadmin.roles migrate` first.")
    assert done.stderr.count("\n") == 1


def test_it_does_not_start_on_a_port_that_is_taken(environment: dict[str, str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        done = _start_to_end({**environment, "PORT": str(port)})

    assert done.returncode == 1
    assert f"Port {port} at 127.0.0.1 cannot be used: address already in use." in done.stderr
    assert done.stderr.count("\n") == 1


def test_two_rapid_signals_always_end_it_and_what_it_started(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(_TIMES):
        with _running(environment, monkeypatch) as (web, port):
            web.send_signal(signal.SIGTERM)
            web.send_signal(signal.SIGTERM)

            assert web.wait(timeout=_END_SECONDS) == 0
            assert not _is_open(port)


def test_it_ends_with_the_server_when_that_ends_by_itself(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with _running(environment, monkeypatch) as (web, port):
        children = Path(f"/proc/{web.pid}/task/{web.pid}/children").read_text().split()

        for child in children:
            os.kill(int(child), signal.SIGKILL)

        assert web.wait(timeout=_END_SECONDS) != 0
        wait_until(lambda: not _is_open(port), "the port to be free")


@contextmanager
def _running(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    port = find_free_port()
    monkeypatch.setenv("PORT", str(port))
    # The checks are tests of their own; without them a start is quicker.
    web = subprocess.Popen([*build_role_command("web"), "--checked"], env=environment)
    try:
        wait_until(lambda: _is_open(port), "the web server to listen", seconds=60)
        yield web, port
    finally:
        web.kill()
        web.wait()


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
