"""What dnsadmin makes in its state folder is its user's alone, whatever umask and folder say."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.deep, pytest.mark.one_database]

_ROOT = Path(__file__).parents[2]


def _run(state: Path, *module: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DNSADMIN_")}
    kept.pop("DATABASE_URL", None)
    done = subprocess.run(
        [sys.executable, *module],
        cwd=_ROOT,
        env={**kept, "DNSADMIN_STATE_DIR": str(state)},
        umask=0,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def _find_open_files(state: Path) -> list[str]:
    return [
        f"{path.relative_to(state)} {stat.S_IMODE(path.stat().st_mode):o}"
        for path in sorted(state.rglob("*"))
        if "static" not in path.parts and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]


def test_every_file_is_private_in_a_folder_that_is_open_to_all(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o777)
    state.chmod(0o777)

    _run(state, "-m", "dnsadmin.prepare")
    _run(state, "-m", "dnsadmin.roles", "migrate")
    _run(state, "-m", "dnsadmin.first_administrator")

    names = {path.name for path in state.rglob("*")}
    assert {"dnsadmin.sqlite3", "admin-password", "dnsadmin_audit_key"} <= names
    assert _find_open_files(state) == []


def test_what_an_earlier_start_left_open_is_closed_by_the_next(tmp_path: Path) -> None:
    state = tmp_path / "state"
    _run(state, "-m", "dnsadmin.prepare")
    (state / "logs").mkdir(mode=0o755)
    for name in ("dnsadmin.sqlite3-wal", "logs/web.log", "secrets/dnsadmin_audit_key"):
        path = state / name
        path.touch()
        path.chmod(0o644)

    _run(state, "-m", "dnsadmin.prepare")

    assert _find_open_files(state) == []
