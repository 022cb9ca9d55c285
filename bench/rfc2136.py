"""What reading a zone of a real name server costs: 10,000 record sets, over the bare library.

The floor is dnspython's own transfer of the same zone over the same connection's worth of messages. Bar: 1.3.
Needs BIND; says so and measures nothing where it is not installed.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import dns.name
import dns.query
import dns.xfr
import dns.zone

from providers.backends.rfc2136 import Rfc2136Backend
from providers.backends.zone_transfer import NameServer
from tests.name_servers import BIND, name_server

_COUNT = 10_000
_RUNS = 5


def measure_rfc2136_read() -> None:
    """Print one line of JSON: the best of five readings, the floor, the ratio."""
    if BIND.path is None:
        sys.stdout.write(json.dumps({"rfc2136-read": f"not measured: {BIND.absence}"}) + "\n")
        return
    with (
        tempfile.TemporaryDirectory(prefix="dnsadmin-bench-") as folder,
        name_server(BIND, Path(folder)) as running,
    ):
        running.stop()
        zone = Path(folder) / "example.org.zone"
        lines = [f"app-{n}.example.org. 300 IN A 192.0.2.{n % 250 + 1}\n" for n in range(_COUNT)]
        zone.write_text(zone.read_text() + "".join(lines))
        running.start()
        backend = Rfc2136Backend(running.server(), ["example.org"])
        seconds, floor = [], []
        for _ in range(_RUNS):
            started = time.perf_counter()
            found = len(backend.records())
            seconds.append(time.perf_counter() - started)
            started = time.perf_counter()
            _transfer(running.port, running.server())
            floor.append(time.perf_counter() - started)
    line = {"rfc2136-read": found, "seconds": round(min(seconds), 3), "floor_seconds": round(min(floor), 3)}
    sys.stdout.write(json.dumps({**line, "ratio": round(min(seconds) / min(floor), 2), "bar": 1.3}) + "\n")
    sys.stdout.flush()


def _transfer(port: int, server: NameServer) -> None:
    zone = dns.zone.Zone("example.org", relativize=False)
    query, _ = dns.xfr.make_query(zone, serial=None)
    server.sign(query)
    dns.query.inbound_xfr("127.0.0.1", zone, query, port=port, lifetime=30)
