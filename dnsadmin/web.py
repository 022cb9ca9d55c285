"""The web role: `python -m dnsadmin.web --host HOST --port PORT ...`, started by dnsadmin.roles.

It looks first whether it can work, then becomes the parent of the web server. The server's own signal handler
takes a lock that the interrupted code may hold, so that a SIGTERM can leave it waiting for ever. Here signals
are waited for, not handled: any number of them ends the server: by SIGTERM, and after a while by SIGKILL.
"""

import argparse
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import NoReturn

from dnsadmin.children import Children
from dnsadmin.env import BASE_DIR, BadSetting, MissingSecret, fetch_optional_secret
from dnsadmin.metrics_folder import VARIABLE, make_metrics_folder

# More than the server gives its own workers, less than the supervisor gives this role.
_STOP_SECONDS = 15.0
_CHECKED = "--checked"
_WAITED_FOR = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)


class CannotStart(Exception):
    """Why the role does not start, in one sentence, and what to do."""


class DatabaseAway(CannotStart):
    """The database did not answer, or not as it should."""


def main(arguments: list[str]) -> int:
    if _CHECKED in arguments:
        return serve([each for each in arguments if each != _CHECKED])
    try:
        host, port = _read_place(arguments)
        raise_if_port_taken(host, port)
        raise_if_database_unfit()
    except (CannotStart, BadSetting, MissingSecret) as error:
        sys.stderr.write(f"The role web did not start. {error}\n")
        return 1
    return _begin_anew([sys.executable, "-m", "dnsadmin.web", _CHECKED, *arguments])


def _begin_anew(command: list[str]) -> NoReturn:
    """The parent of the server needs nothing of what the checks have loaded."""
    os.execv(command[0], command)  # noqa: S606 - the same program


def serve(arguments: Sequence[str]) -> int:
    """Run the web server until a signal comes or it ends by itself; the exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
    environment = dict(os.environ)
    if fetch_optional_secret("DNSADMIN_METRICS_TOKEN"):
        environment[VARIABLE] = make_metrics_folder("web")
    children = Children(environment, BASE_DIR, stop_seconds=_STOP_SECONDS)
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "dnsadmin.wsgi:application"]
    server = children.start("web server", [*command, *arguments])
    while True:
        received = signal.sigwait(_WAITED_FOR)
        if received != signal.SIGCHLD:
            children.stop_all()
            return 0
        if server.process.poll() is not None:
            children.stop_all()  # its workers may have outlived it
            return server.process.returncode or 1


def raise_if_port_taken(host: str, port: int, *, hint: str = "PORT and DNSADMIN_LISTEN") -> None:
    """Raise CannotStart where something listens there already, or the address is not one of this machine."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise CannotStart(
            f"Port {port} at {host} cannot be used: {(error.strerror or 'unknown').lower()}. Stop what "
            f"listens there, or choose another with {hint}."
        ) from error


def raise_if_database_unfit() -> None:
    """Raise CannotStart where the database is away (DatabaseAway) or not migrated; note a restore."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnsadmin.settings")
    import django

    django.setup()
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    from registry_app.errors import DATABASE_ERRORS, DatabaseUnusable
    from registry_app.restore.note_restore import note_restore_if_any

    try:
        executor = MigrationExecutor(connection)
        missing = [str(step) for step, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]
        if not missing:
            note_restore_if_any()
    except DATABASE_ERRORS as error:
        raise DatabaseAway(str(DatabaseUnusable(error))) from error
    if missing:
        raise CannotStart(
            f"The database is not migrated: it lacks {missing[0]}"
            f"{f' and {len(missing) - 1} more' if len(missing) > 1 else ''}. "
            "Run `python -m dnsadmin.roles migrate` first."
        )


def _read_place(arguments: list[str]) -> tuple[str, int]:
    parser = argparse.ArgumentParser(prog="python -m dnsadmin.web")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", required=True, type=int)
    place, _ = parser.parse_known_args(arguments)
    return str(place.host), int(place.port)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
