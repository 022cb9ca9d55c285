"""The roles dnsadmin runs in, and how each is started: `python -m dnsadmin.roles web|worker|beat|migrate`.

One machine runs them all under `make run`; many machines run them one by one with the same commands.
"""

import os
import sys
from importlib import import_module

from dnsadmin.env import BASE_DIR, STATE_DIR, BadSetting, MissingSecret, env, fetch_port
from dnsadmin.prepare import make_private

ROLES = ("web", "worker", "beat", "migrate")


def build_role_command(role: str) -> list[str]:
    """The command line of one role, settings taken from the environment.

    `DNSADMIN_LISTEN` (127.0.0.1), `PORT` (8000), `DNSADMIN_WEB_THREADS` (8) and `DNSADMIN_WEB_PROCESSES`
    (1) shape the web role, `DNSADMIN_WORKER_PROCESSES` (4) the worker.
    """
    python = sys.executable
    if role == "web":
        return [
            *(python, "-m", "dnsadmin.web"),
            *("--host", env.str("DNSADMIN_LISTEN", default="127.0.0.1")),
            *("--port", str(fetch_port("PORT"))),
            *("--workers", str(env.int("DNSADMIN_WEB_PROCESSES", default=1))),
            *("--blocking-threads", str(env.int("DNSADMIN_WEB_THREADS", default=8))),
            *("--log-level", "warning", "--no-ws", "--workers-kill-timeout", "10"),
        ]
    celery = [python, "-m", "celery", "--app", "dnsadmin", "--quiet"]
    if role == "worker":
        processes = str(env.int("DNSADMIN_WORKER_PROCESSES", default=4))
        return [*celery, "worker", "--loglevel", "INFO", "--concurrency", processes, "--without-mingle"]
    if role == "beat":
        schedule = STATE_DIR / "beat-schedule"
        return [*celery, "beat", "--loglevel", "WARNING", "--schedule", str(schedule), "--pidfile", ""]
    if role == "migrate":
        return [python, str(BASE_DIR / "manage.py"), "migrate", "--no-input", "--verbosity", "0"]
    raise ValueError(f"There is no role {role!r}; the roles are {', '.join(ROLES)}.")


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
