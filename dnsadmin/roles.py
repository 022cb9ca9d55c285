"""The roles dnsadmin runs in, and how each is started: `python -m dnsadmin.roles ROLE`.

One machine runs them all under `make run`; many machines run them one by one with the same commands.
`make run` assumes more of its one machine, and so does a command beside it.
"""

import fcntl
import os
import sys
from collections.abc import MutableMapping
from importlib import import_module
from pathlib import Path
from typing import Final

from dnsadmin.env import BASE_DIR, STATE_DIR, BadSetting, MissingSecret, env, fetch_port
from dnsadmin.prepare import make_private
from dnsadmin.usable_cores import count_usable_cores

ROLES = ("web", "guard", "worker", "beat", "migrate")
GUARD_PORT = 8888
# Beyond these the database is what requests wait for.
_MOST_WEB_PROCESSES = 8

# Plain HTTP on loopback, to providers on loopback too. What the environment says comes first.
ASSUMED: Final = {
    "DNSADMIN_HTTPS": "0",
    "DNSADMIN_ALLOW_LOOPBACK": "1",
    "DNSADMIN_LOG_FORMAT": "console",
}


# A command prints for people what it did; the log of a role says it for the record.
COMMAND_LOG_LEVEL: Final = "WARNING"


def build_role_command(role: str) -> list[str]:
    """The command line of one role, settings taken from the environment.

    `DNSADMIN_LISTEN` (127.0.0.1), `PORT` (8000), `DNSADMIN_WEB_THREADS` (8) and `DNSADMIN_WEB_PROCESSES`
    (one for each processor that it may use, at most 8) shape the web role, `DNSADMIN_GUARD_LISTEN`
    (127.0.0.1) and `DNSADMIN_GUARD_PORT` (8888) the guard, `DNSADMIN_WORKER_PROCESSES` (4) the worker.
    """
    python = sys.executable
    if role == "web":
        return [
            *(python, "-m", "dnsadmin.web"),
            *("--host", env.str("DNSADMIN_LISTEN", default="127.0.0.1")),
            *("--port", str(fetch_port("PORT"))),
            *("--workers", str(env.int("DNSADMIN_WEB_PROCESSES", default=_count_web_processes()))),
            *("--blocking-threads", str(env.int("DNSADMIN_WEB_THREADS", default=8))),
            *("--log-level", "warning", "--no-ws", "--workers-kill-timeout", "10"),
        ]
    if role == "guard":
        return [
            *(python, "-m", "dnsadmin.guard"),
            *("--host", env.str("DNSADMIN_GUARD_LISTEN", default="127.0.0.1")),
            *("--port", str(env.int("DNSADMIN_GUARD_PORT", default=GUARD_PORT))),
        ]
    background = [python, "-m", "dnsadmin.background"]
    if role == "worker":
        processes = str(env.int("DNSADMIN_WORKER_PROCESSES", default=4))
        return [*background, "worker", "--loglevel", "INFO", "--concurrency", processes, "--without-mingle"]
    if role == "beat":
        schedule = STATE_DIR / "beat-schedule"
        return [*background, "beat", "--loglevel", "WARNING", "--schedule", str(schedule), "--pidfile", ""]
    if role == "migrate":
        return [python, "-m", "dnsadmin", "migrate", "--no-input", "--verbosity", "0"]
    raise ValueError(f"There is no role {role!r}; the roles are {', '.join(ROLES)}.")


def _count_web_processes() -> int:
    """One process uses one processor: Python runs one thread of it at a time."""
    return min(count_usable_cores(), _MOST_WEB_PROCESSES)


def main(arguments: list[str]) -> int:
    """Become the named role; only a usage error, or a setting that cannot be used, returns."""
    if len(arguments) == 1 and arguments[0] in ROLES:
        try:
            # Read here first: a role that cannot start says why in one sentence, not in a traceback.
            import_module("dnsadmin.settings")
            command = build_role_command(arguments[0])
        except (BadSetting, MissingSecret) as error:
            sys.stderr.write(f"The role {arguments[0]} did not start. {error}\n")
            return 1
        if STATE_DIR.is_dir():
            make_private(STATE_DIR)
        os.chdir(BASE_DIR)
        os.execv(command[0], command)  # noqa: S606 - the process becomes the role: signals reach it
    sys.stderr.write(f"usage: python -m dnsadmin.roles {'|'.join(ROLES)}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))


def lock_path(state_dir: Path) -> Path:
    """The file that a `make run` holds locked for as long as it uses a state folder."""
    return state_dir / "run.lock"


def is_running(state_dir: Path) -> bool:
    """Whether a `make run` uses this state folder now."""
    try:
        descriptor = os.open(lock_path(state_dir), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def assume_what_runs(state_dir: Path, environment: MutableMapping[str, str]) -> None:
    """For a command: see what the `make run` of this folder sees. With other settings the same provider
    would be refused here and read there."""
    if is_running(state_dir):
        for name, value in ASSUMED.items():
            environment.setdefault(name, value)
