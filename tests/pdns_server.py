"""A real PowerDNS on free loopback ports, with its API, over an SQLite file of its own."""

import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from dnsadmin.free_port import find_free_port
from providers.backends.errors import BackendError
from providers.backends.powerdns import PowerDnsApi

API_KEY = "only-for-these-tests"
_SCHEMA = Path("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql")
_START_SECONDS = 30.0


def find_pdns() -> str | None:
    """PowerDNS's server program, where it and its SQLite backend are installed."""
    return shutil.which("pdns_server", path="/usr/sbin:/usr/bin") if _SCHEMA.exists() else None


@dataclass
class RunningPowerDns:
    """One server; `stop` and `start` may be called in a test, the zones stay."""

    folder: Path
    port: int

    def api(self, key: str = API_KEY) -> PowerDnsApi:
        return PowerDnsApi(f"http://127.0.0.1:{self.port}", key)

    def create_zone(self, name: str) -> None:
        """A new native zone with one name server."""
        zone = {"name": f"{name}.", "kind": "Native", "nameservers": ["ns1.example.com."]}
        url = f"http://127.0.0.1:{self.port}/api/v1/servers/localhost/zones"
        requests.post(url, json=zone, headers={"X-API-Key": API_KEY}, timeout=10).raise_for_status()

    def start(self) -> None:
        program = find_pdns()
        assert program is not None
        with (self.folder / "pdns.log").open("wb") as log:
            self._process = subprocess.Popen([program, f"--config-dir={self.folder}"], stdout=log, stderr=log)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.api().fetch_zones()
            except BackendError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError((self.folder / "pdns.log").read_text()[-2000:]) from None
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(timeout=20)


@contextmanager
def pdns_server(folder: Path, *zones: str) -> Iterator[RunningPowerDns]:
    """A PowerDNS with empty zones, its files in `folder`."""
    database = folder / "pdns.sqlite3"
    with sqlite3.connect(database) as connection:
        connection.executescript(_SCHEMA.read_text())
    connection.close()
    port = find_free_port()
    settings = {
        "launch": "gsqlite3",
        "gsqlite3-database": database,
        "api": "yes",
        "api-key": API_KEY,
        "webserver": "yes",
        "webserver-address": "127.0.0.1",
        "webserver-port": port,
        "local-address": "127.0.0.1",
        "local-port": find_free_port(),
        "socket-dir": folder,
        "daemon": "no",
        "guardian": "no",
        "default-soa-content": "ns1.example.com. hostmaster.@ 0 10800 3600 604800 300",
    }
    (folder / "pdns.conf").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    running = RunningPowerDns(folder, port)
    running.start()
    try:
        for zone in zones:
            running.create_zone(zone)
        yield running
    finally:
        running.stop()
