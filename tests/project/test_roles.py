"""Each role is one command line, shaped by the environment."""

import os
import socket
import subprocess
import sys

import pytest

from dnsadmin.roles import ROLES, build_role_command

pytestmark = [pytest.mark.one_database, pytest.mark.deep]


def test_every_role_has_a_command_of_this_python() -> None:
    commands = [build_role_command(role) for role in ROLES]

    assert all(command[0] == sys.executable for command in commands)


def test_the_web_role_listens_where_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "8123")
    monkeypatch.setenv("DNSADMIN_LISTEN", "0.0.0.0")

    command = build_role_command("web")

    assert command[command.index("--port") + 1] == "8123"
    assert command[command.index("--host") + 1] == "0.0.0.0"


@pytest.mark.parametrize("role", ["worker", "beat"])
def test_a_role_without_its_operations_port_does_not_start(role: str) -> None:
    setting = f"DNSADMIN_{role.upper()}_OPERATIONS_PORT"
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        done = subprocess.run(
            [sys.executable, "-m", "dnsadmin.roles", role],
            env={**os.environ, setting: str(port)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr.startswith(f"The role {role} did not start. Port {port} at 127.0.0.1 cannot be used")
    assert setting in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["gate"], ["web", "worker"]])
def test_a_role_that_does_not_exist_is_a_usage_error(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dnsadmin.roles", *arguments], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "web|guard|worker|beat|migrate" in done.stderr


@pytest.mark.parametrize(("settings", "is_told"), [({}, False), ({"DNSADMIN_LOG_LEVEL": "INFO"}, True)])
def test_a_command_logs_what_went_wrong_alone_unless_told_otherwise(
    settings: dict[str, str], *, is_told: bool
) -> None:
    program = "import logging; logging.getLogger('registry_app').info('told')"
    environment = {name: value for name, value in os.environ.items() if name != "DNSADMIN_LOG_LEVEL"}

    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", program],
        env={**environment, **settings},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ("told" in done.stderr) is is_told
