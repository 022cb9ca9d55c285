"""What reading a zone of a real name server costs: 10,000 record sets, over the bare library.

The floor is dnspython's own transfer of the same zone over the same connection's worth of messages.
Needs BIND; says so and measures nothing where it is not installed.
"""

import sys
import tempfile
import time
from pathlib import Path

import dns.name
import dns.query
import dns.xfr
import dns.zone

from bench.figures import Figure, Report
from providers.backends.name_server import NameServer
from providers.backends.rfc2136 import Rfc2136Backend
from tests.name_servers import BIND, name_server

_COUNT = 10_000
NAMES = ("rfc2136-read",)


def measure_rfc2136_read(report: Report, rounds: int) -> None:
    """Add the figure, `rounds` times."""
    if BIND.path is None:
        sys.stdout.write(f"rfc2136-read was not measured: {BIND.absence}\n")
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
        for _ in range(rounds):
            started = time.perf_counter()
            backend.records()
            seconds = time.perf_counter() - started
            started = time.perf_counter()
            _transfer(running.port, running.server())
            report.add(Figure("rfc2136-read", seconds, time.perf_counter() - started, 1.3))


def _transfer(port: int, server: NameServer) -> None:
    zone = dns.zone.Zone("example.org", relativize=False)
    query, _ = dns.xfr.make_query(zone, serial=None)
    server.sign(query)
    dns.query.inbound_xfr("127.0.0.1", zone, query, port=port, lifetime=30)
