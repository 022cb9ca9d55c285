"""A port for a server that cannot choose one by itself."""

import itertools
import os
import socket
from pathlib import Path

_LOWEST = 20_000
_USUAL_LOWEST_OF_THE_SYSTEM = 32_768
# Each process looks in a block of its own, and never at the port it has just given away: between finding
# a port and binding it, another one that looks finds the same port free. A block is large enough for ports
# that wait out their last connections (TIME_WAIT).
_BLOCK = 400
_TURNS = itertools.count()


def find_free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, and that the system gives nobody unasked.

    Binding to port 0 and letting go again finds a port that any outgoing connection may be given before
    its server binds it. Below that range (Linux: ip_local_port_range) only those who ask for it are.
    Raises OSError if all ports of this process's block are taken.
    """
    blocks = (_lowest_of_the_system() - _LOWEST) // _BLOCK
    first = _LOWEST + os.getpid() % blocks * _BLOCK
    for _ in range(_BLOCK):
        port = first + next(_TURNS) % _BLOCK
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise OSError(f"No free port was found from {first} to {first + _BLOCK - 1}.")


def _lowest_of_the_system() -> int:
    try:
        told = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()
    except OSError:
        return _USUAL_LOWEST_OF_THE_SYSTEM
    return max(int(told[0]), _LOWEST + 1_000)
