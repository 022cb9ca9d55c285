"""One installation in one folder: a second start refuses and disturbs nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dnsadmin.supervisor import StartFailed, take_folder

pytestmark = pytest.mark.deep


def test_a_folder_in_use_is_not_started_in_again(tmp_path: Path) -> None:
    (tmp_path / "broker.sock").touch()

    with take_folder(tmp_path):
        environment = {**os.environ, "DNSADMIN_STATE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-m", "dnsadmin.supervisor"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 1
    assert "Another `make run` is using" in done.stdout
    assert (tmp_path / "broker.sock").exists()


def test_a_folder_that_was_let_go_is_free_again(tmp_path: Path) -> None:
    with take_folder(tmp_path), pytest.raises(StartFailed):
        take_folder(tmp_path)

    take_folder(tmp_path).close()
