"""A provider is a sidecar: unless told otherwise it can be reached from its own machine alone."""

import json
import socket
import subprocess
import sys

import pytest

from providers.servers.backend_catalogue import BACKENDS
from providers.servers.command_line import choose_operations_port, run
from tests.reference_server import ReferenceProvider


@pytest.mark.deep
def test_a_server_told_no_address_is_on_the_loopback_address_alone() -> None:
    command = [sys.executable, "-m", "providers.servers", "memory", "--port", "0", "--operations-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        port = int(ready["url"].rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass
        # Who listens on all addresses listens on this one too.
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=5)
        process.kill()

    assert ready["url"].startswith("http://127.0.0.1:")


def test_the_reference_server_of_the_tests_is_too() -> None:
    with ReferenceProvider() as provider, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", provider.port), timeout=5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_is_served_on_localhost_8888_unless_told_otherwise(
    backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run([backend, "--help"], {})

    words = " ".join(capsys.readouterr().out.split())
    assert "address to listen on (127.0.0.1)" in words
    assert "port, 0 for a free one (8888)" in words


@pytest.mark.parametrize(
    ("port", "told", "chosen"),
    [(8888, None, 8080), (8888, 0, 0), (8888, 9090, 9090), (8888, -1, None), (0, None, None), (9999, 0, 0)],
)
def test_health_and_metrics_are_on_a_second_port(port: int, told: int | None, chosen: int | None) -> None:
    assert choose_operations_port(port, told) == chosen


@pytest.mark.deep
def test_a_second_port_that_is_taken_is_told_with_the_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "providers.servers", "memory", "--port", "0"]

        ended = subprocess.run(
            [*command, "--operations-port", port], capture_output=True, text=True, timeout=30, check=False
        )

    assert ended.returncode == 1
    assert f"cannot be served on port {port}" in ended.stderr
    assert "--operations-port, or off" in ended.stderr
