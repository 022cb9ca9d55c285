"""Ports for servers that cannot choose one themselves."""

import socket
import subprocess
import sys

import pytest

from dnsadmin.free_port import find_free_port

pytestmark = [pytest.mark.one_database, pytest.mark.deep]


def test_no_outgoing_connection_is_given_a_port_that_was_found() -> None:
    given_by_the_system = []
    for _ in range(200):
        with socket.create_server(("127.0.0.1", 0)) as anybody:
            given_by_the_system.append(anybody.getsockname()[1])

    found = [find_free_port() for _ in range(200)]

    assert max(found) < min(given_by_the_system)
    for port in found[:20]:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_those_who_look_at_the_same_time_never_find_the_same_port() -> None:
    command = (
        "import sys; from dnsadmin.free_port import find_free_port as f; "
        "print(*(f() for _ in range(150)), flush=True); sys.stdin.read()"
    )
    looking = [
        subprocess.Popen(
            [sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    found = [port for each in looking if each.stdout for port in each.stdout.readline().split()]

    for each in looking:
        each.communicate(timeout=60)
    assert len(found) == len(set(found)) == 8 * 150
