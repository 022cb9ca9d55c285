"""One name server, whichever program it is: started, reached, stopped by its own process id."""

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dnsadmin.free_port import find_free_port
from providers.backends.name_server import NameServer, TsigKey
from providers.backends.zone import make_zone_text

ZONES = ("example.org", "example.net")
KEY = TsigKey("dnsadmin-key", "hmac-sha256", b"only for these tests, thirty-two")
SECRET = "b25seSBmb3IgdGhlc2UgdGVzdHMsIHRoaXJ0eS10d28="
_START_SECONDS = 30.0


@dataclass(frozen=True)
class NameServerProgram:
    """A name server that may be installed.

    `write_configuration(folder, port)` names the file it wrote; `ready` is what its log says once it serves.
    """

    title: str
    program: str
    package: str
    arguments: tuple[str, ...]
    ready: str
    write_configuration: Callable[[Path, int], Path]

    @property
    def path(self) -> str | None:
        """The program, where it is installed."""
        return shutil.which(self.program) or shutil.which(self.program, path="/usr/sbin")

    @property
    def absence(self) -> str:
        """Why a test that needs it was left out."""
        return f"{self.title} is not installed (Debian: apt-get install {self.package})"


@dataclass
class RunningNameServer:
    """`stop` and `start` may be called in a test; the zones stay, each in `<zone>.zone` in the folder."""

    kind: NameServerProgram
    folder: Path
    port: int
    configuration: Path

    def server(self, key: TsigKey | None = KEY, *, seconds: float = 20.0) -> NameServer:
        """How a backend reaches it."""
        return NameServer("127.0.0.1", self.port, key=key, seconds=seconds)

    @property
    def key_file(self) -> Path:
        """The key as `tsig-keygen` writes it."""
        path = self.folder / "dnsadmin.key"
        path.write_text(f'key "{KEY.name}" {{\n\talgorithm hmac-sha256;\n\tsecret "{SECRET}";\n}};\n')
        return path

    def start(self) -> None:
        assert self.kind.path is not None
        path = self.folder / "server.log"
        command = [self.kind.path, *self.kind.arguments, str(self.configuration)]
        with path.open("wb") as log:
            self._process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        deadline = time.monotonic() + _START_SECONDS
        while self.kind.ready not in path.read_text():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(path.read_text()[-2000:])
            time.sleep(0.02)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=20)


@contextmanager
def name_server(kind: NameServerProgram, folder: Path) -> Iterator[RunningNameServer]:
    """A name server with two empty zones in `folder`."""
    port = find_free_port()
    for zone in ZONES:
        (folder / f"{zone}.zone").write_text(make_zone_text(zone, "ns1.example.com"))
    running = RunningNameServer(kind, folder, port, kind.write_configuration(folder, port))
    running.start()
    try:
        yield running
    finally:
        running.stop()
