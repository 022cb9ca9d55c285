"""Real name servers on free loopback ports, primary for two zones that are updated with a key."""

from tests.name_servers.bind import BIND
from tests.name_servers.knot import KNOT
from tests.name_servers.running import KEY, ZONES, NameServerProgram, RunningNameServer, name_server

NAME_SERVERS = (BIND, KNOT)

__all__ = [
    "BIND",
    "KEY",
    "KNOT",
    "NAME_SERVERS",
    "ZONES",
    "NameServerProgram",
    "RunningNameServer",
    "name_server",
]
