"""Run a command with private PostgreSQL and Redis servers: `python -m tests.services COMMAND...`.

The servers listen on free loopback ports, keep everything in a temporary folder, and are stopped by their
own process ids. With DATABASE_URL and REDIS_URL set, those are used and nothing is started.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dnsadmin.free_port import find_free_port

_START_SECONDS = 60.0


def main(command: Sequence[str]) -> int:
    if "DATABASE_URL" in os.environ and "REDIS_URL" in os.environ:
        return subprocess.run(_split_environment(command)[1], check=False).returncode
    added, arguments = _split_environment(command)
    with _folder() as folder, postgresql(folder) as database_url, redis(folder) as redis_url:
        environment = {**os.environ, **added, "DATABASE_URL": database_url, "REDIS_URL": redis_url}
        environment["DNSADMIN_TEST_TEMPLATE"] = _make_migrated_database(environment)
        return subprocess.run(arguments, env=environment, check=False).returncode


def _split_environment(command: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """`NAME=value` words before the command, as a shell takes them."""
    words = list(command)
    added: dict[str, str] = {}
    while words and "=" in words[0]:
        name, value = words.pop(0).split("=", 1)
        added[name] = value
    return added, words


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="dnsadmin-services-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """A private PostgreSQL; its URL."""
    programs = find_postgresql_programs()
    data, port = folder / "postgresql", find_free_port()
    data.mkdir()
    as_user = _demoted(data)
    subprocess.run(
        [*as_user, programs / "initdb", "--auth=trust", "--username=dnsadmin", "--encoding=UTF8", data],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    # Nothing here outlives the run: durability is switched off for speed, never for meaning.
    options = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
    options |= {"wal_level": "minimal", "max_wal_senders": "0", "jit": "off", "max_connections": "200"}
    options |= {"listen_addresses": "127.0.0.1", "port": str(port), "unix_socket_directories": str(data)}
    settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    with (folder / "postgresql.log").open("wb") as log:
        command: list[str | Path] = [*as_user, programs / "postgres", "-D", data, *settings]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    with _stopped_at_the_end(process):
        client: list[str | Path] = [programs / "psql", "-h", "127.0.0.1", "-p", str(port), "-U", "dnsadmin"]
        _wait_until_true([*client, "-d", "postgres", "-c", "SELECT 1"], process)
        yield f"postgres://dnsadmin@127.0.0.1:{port}/postgres"


def _make_migrated_database(environment: Mapping[str, str]) -> str:
    """The name of a migrated database, which every process of the run copies instead of migrating its own."""
    server, _, _ = environment["DATABASE_URL"].rpartition("/")
    subprocess.run(
        [find_postgresql_programs() / "psql", environment["DATABASE_URL"], "-qc", "CREATE DATABASE migrated"],
        check=True,
    )
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        env={**environment, "DATABASE_URL": f"{server}/migrated"},
        check=True,
    )
    return "migrated"


def find_postgresql_programs() -> Path:
    """The folder of the newest PostgreSQL that is installed here."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    installed = shutil.which("postgres")
    if installed is None:
        sys.exit("PostgreSQL is not installed (Debian: apt-get install postgresql). Nothing was run.")
    return Path(installed).parent


def _demoted(data: Path) -> list[str]:
    """PostgreSQL refuses to run as root: run it as its own user there."""
    if os.geteuid() != 0:
        return []
    account = pwd.getpwnam("postgres")
    os.chown(data, account.pw_uid, account.pw_gid)
    return ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """A private Redis; its URL."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        sys.exit("Redis is not installed (Debian: apt-get install redis-server). Nothing was run.")
    port = find_free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    with _stopped_at_the_end(process):
        _wait_until_open(port, process)
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def _stopped_at_the_end(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_true(command: Sequence[str | Path], process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while subprocess.run(command, capture_output=True, check=False).returncode:
        _raise_if_over(process, deadline)


def _wait_until_open(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        _raise_if_over(process, deadline)


def _raise_if_over(process: "subprocess.Popen[bytes]", deadline: float) -> None:
    if process.poll() is not None or time.monotonic() > deadline:
        sys.exit(f"{process.args!r} did not start.")
    time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
