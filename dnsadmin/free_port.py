"""A port for a server that cannot choose one by itself."""

import secrets
import socket
from pathlib import Path

_LOWEST = 20_000
_USUAL_LOWEST_OF_THE_SYSTEM = 32_768


def find_free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, and that the system gives nobody unasked.

    Binding to port 0 and letting go again finds a port that any outgoing connection may be given before
    its server binds it. Below that range (Linux: ip_local_port_range) only those who ask for it are.
    Raises OSError if a hundred ports in a row are taken.
    """
    highest = _lowest_of_the_system()
    for _ in range(100):
        port = _LOWEST + secrets.randbelow(highest - _LOWEST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise OSError(f"No free port was found from {_LOWEST} to {highest}.")


def _lowest_of_the_system() -> int:
    try:
        told = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()
    except OSError:
        return _USUAL_LOWEST_OF_THE_SYSTEM
    return max(int(told[0]), _LOWEST + 1_000)
