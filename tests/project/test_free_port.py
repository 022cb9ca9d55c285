"""Ports for servers that cannot choose one themselves."""

import socket

from dnsadmin.free_port import find_free_port


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
