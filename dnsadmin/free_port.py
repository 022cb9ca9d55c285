"""A port for a server that cannot choose one by itself."""

import secrets
import socket
from pathlib import Path

_LOWEST = 20_000
_USUAL_LOWEST_OF_THE_SYSTEM = 32_768
_CLAIMS: list[socket.socket] = []
_CLAIMS_KEPT = 200


def find_free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, and that neither the system nor another process that
    calls this gives away while this process lives, or until it has found 200 more.

    Binding to port 0 and letting go again finds a port that any outgoing connection may be given before
    its server binds it. Below that range (Linux: ip_local_port_range) only those who ask for it are. Those
    who ask at the same time are kept apart by a claim: half of the numbers are given away, and each has a
    partner in the other half that is bound, and stays so, before it is. Raises OSError if none is left.
    """
    half = (_lowest_of_the_system() - _LOWEST) // 2
    first = secrets.randbelow(half)
    for turn in range(half):
        port = _LOWEST + (first + turn) % half
        claim = socket.socket()
        try:
            claim.bind(("127.0.0.1", port + half))
            # Also refused while the last connections of an earlier server wait out their time (TIME_WAIT).
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _CLAIMS.append(claim)
        if len(_CLAIMS) > _CLAIMS_KEPT:
            _CLAIMS.pop(0).close()
        return port
    raise OSError(f"No free port was found from {_LOWEST} to {_LOWEST + half - 1}.")


def _lowest_of_the_system() -> int:
    try:
        bounds = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()
    except OSError:
        return _USUAL_LOWEST_OF_THE_SYSTEM
    return max(int(bounds[0]), _LOWEST + 1_000)
