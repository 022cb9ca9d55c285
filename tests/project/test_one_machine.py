"""A command beside `make run` sees what that sees, and nothing of it anywhere else."""

from pathlib import Path

import pytest

from dnsadmin.roles import ASSUMED, assume_what_runs
from dnsadmin.supervisor import take_folder

pytestmark = pytest.mark.one_database


def test_a_command_beside_a_run_assumes_what_the_run_does(tmp_path: Path) -> None:
    environment = {"DNSADMIN_LOG_FORMAT": "json"}

    with take_folder(tmp_path):
        assume_what_runs(tmp_path, environment)

    assert environment == {**ASSUMED, "DNSADMIN_LOG_FORMAT": "json"}


@pytest.mark.parametrize("has_run_before", [False, True])
def test_a_command_on_its_own_assumes_nothing(tmp_path: Path, *, has_run_before: bool) -> None:
    if has_run_before:
        take_folder(tmp_path).close()
    environment: dict[str, str] = {}

    assume_what_runs(tmp_path, environment)

    assert environment == {}


def test_looking_does_not_keep_a_run_from_starting(tmp_path: Path) -> None:
    take_folder(tmp_path).close()

    assume_what_runs(tmp_path, {})

    take_folder(tmp_path).close()
