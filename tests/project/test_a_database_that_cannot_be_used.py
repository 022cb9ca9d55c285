"""A database that is away or was never migrated is told in one sentence, not in a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dnsadmin.env import BASE_DIR
from dnsadmin.free_port import find_free_port
from dnsadmin.prepare import prepare_state

pytestmark = [pytest.mark.one_database, pytest.mark.deep]


def _manage(state: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    prepare_state(state)
    kept = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=BASE_DIR,
        env={**kept, "DNSADMIN_STATE_DIR": str(state), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", [("migrate",), ("dnsadmin_check",), ("dnsadmin_sync", "--all")])
def test_a_server_that_is_away_is_told_without_its_password(tmp_path: Path, command: tuple[str, ...]) -> None:
    url = f"postgres://dnsadmin:correct-horse@127.0.0.1:{find_free_port()}/dnsadmin"

    ran = _manage(tmp_path, *command, DATABASE_URL=url)

    told = ran.stdout + ran.stderr
    assert ran.returncode == 1
    assert "The database cannot be used: connection failed" in told
    assert "Check that it runs" in told
    assert "Traceback" not in told
    assert "correct-horse" not in told


def test_a_database_that_was_never_migrated_is_told_as_json_too(tmp_path: Path) -> None:
    ran = _manage(tmp_path, "dnsadmin_check", "--json")

    error = json.loads(ran.stdout)["error"]
    assert ran.returncode == 1
    assert error["code"] == "database_unavailable"
    assert "no such table" in error["happened"]
    assert "dnsadmin.roles migrate" in error["todo"]
    assert "Traceback" not in ran.stderr


def test_the_traceback_is_there_for_who_asks(tmp_path: Path) -> None:
    url = f"postgres://dnsadmin@127.0.0.1:{find_free_port()}/dnsadmin"

    ran = _manage(tmp_path, "migrate", "--traceback", DATABASE_URL=url)

    assert ran.returncode == 1
    assert "Traceback" in ran.stderr
