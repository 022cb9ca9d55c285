"""A real BIND on a free loopback port, primary for `example.org` and `example.net`, updated with a key."""

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from providers.backends.tsig_key import TsigKey
from providers.backends.zone import make_zone_text
from providers.backends.zone_transfer import NameServer
from tests.services import free_port

ZONES = ("example.org", "example.net")
KEY = TsigKey("dnsadmin-key", "hmac-sha256", b"only for these tests, thirty-two")
_SECRET = "b25seSBmb3IgdGhlc2UgdGVzdHMsIHRoaXJ0eS10d28="
_START_SECONDS = 30.0
_CONFIGURATION = """
options {{ directory "{folder}"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
  pid-file "{folder}/named.pid"; session-keyfile "{folder}/session.key"; recursion no; notify no;
  dnssec-validation no; }};
controls {{ }};
key "{name}" {{ algorithm hmac-sha256; secret "{secret}"; }};
{zones}
"""
_ZONE = """zone "{zone}" {{ type primary; file "{folder}/{zone}.zone"; check-names ignore;
  allow-update {{ key "{key}"; }}; allow-transfer {{ key "{key}"; }}; }};
"""


def find_named() -> str | None:
    """BIND's server program, where it is installed."""
    return shutil.which("named") or shutil.which("named", path="/usr/sbin")


@dataclass
class RunningNameServer:
    """One BIND. `stop` and `start` may be called in a test; the zones stay."""

    folder: Path
    port: int

    def server(self, key: TsigKey | None = KEY, *, seconds: float = 20.0) -> NameServer:
        """How a backend reaches it."""
        return NameServer("127.0.0.1", self.port, key=key, seconds=seconds)

    @property
    def key_file(self) -> Path:
        """The key as `tsig-keygen` writes it."""
        path = self.folder / "dnsadmin.key"
        path.write_text(f'key "{KEY.name}" {{\n\talgorithm hmac-sha256;\n\tsecret "{_SECRET}";\n}};\n')
        return path

    def start(self) -> None:
        program = find_named()
        assert program is not None
        log = (self.folder / "named.log").open("wb")
        self._process = subprocess.Popen(
            [program, "-g", "-c", str(self.folder / "named.conf")], stdout=log, stderr=log
        )
        log.close()
        deadline = time.monotonic() + _START_SECONDS
        while "all zones loaded" not in (self.folder / "named.log").read_text():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((self.folder / "named.log").read_text()[-2000:])
            time.sleep(0.02)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=20)


@contextmanager
def name_server(folder: Path) -> Iterator[RunningNameServer]:
    """A BIND with two empty zones in `folder`."""
    port = free_port()
    zones = "".join(_ZONE.format(zone=zone, folder=folder, key=KEY.name) for zone in ZONES)
    configuration = _CONFIGURATION.format(
        folder=folder, port=port, name=KEY.name, secret=_SECRET, zones=zones
    )
    (folder / "named.conf").write_text(configuration)
    for zone in ZONES:
        (folder / f"{zone}.zone").write_text(make_zone_text(zone, "ns1.example.com"))
    running = RunningNameServer(folder, port)
    running.start()
    try:
        yield running
    finally:
        running.stop()
