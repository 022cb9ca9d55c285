"""A machine is prepared once; what is there already is never touched."""

import base64
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dnsadmin.prepare import prepare_state, write_private_once

pytestmark = [pytest.mark.one_database, pytest.mark.deep]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_creates_a_private_folder_with_three_secrets(tmp_path: Path) -> None:
    state = tmp_path / "state"

    prepare_state(state)

    files = sorted((state / "secrets").iterdir())
    assert [path.name for path in files] == [
        "dnsadmin_audit_key",
        "dnsadmin_encryption_keys",
        "dnsadmin_secret_key",
    ]
    assert {_mode(path) for path in files} == {0o600}
    assert _mode(state) == 0o700
    assert len({path.read_text() for path in files}) == 3
    assert len(base64.b64decode((state / "secrets" / "dnsadmin_encryption_keys").read_text())) == 32


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    prepare_state(tmp_path)
    before = {path: path.read_bytes() for path in (tmp_path / "secrets").iterdir()}

    prepare_state(tmp_path)

    assert {path: path.read_bytes() for path in (tmp_path / "secrets").iterdir()} == before


def test_a_private_file_is_written_only_once(tmp_path: Path) -> None:
    path = tmp_path / "password"

    assert write_private_once(path, "first") is True
    assert write_private_once(path, "second") is False

    assert path.read_text() == "first\n"


def test_a_state_folder_that_cannot_be_made_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    state = tmp_path / "file" / "state"

    ran = subprocess.run(
        [sys.executable, "-m", "dnsadmin.prepare"],
        env={**os.environ, "DNSADMIN_STATE_DIR": str(state)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 1
    assert f"The state folder {state} cannot be used: Not a directory." in ran.stderr
    assert "Traceback" not in ran.stderr
