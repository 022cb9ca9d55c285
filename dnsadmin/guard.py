"""The guard role: `python -m dnsadmin.guard --host HOST --port PORT`, started by dnsadmin.roles.

It starts without a database too: an instance that starts needs an answer to its negotiation, which a replica
has in a file of its own. Stops are waited for, not handled (see dnsadmin.web); requests under way are
answered first.
"""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dnsadmin.env import STATE_DIR, BadSetting, MissingSecret, env
from dnsadmin.web import CannotStart, DatabaseAway, raise_if_database_unfit, raise_if_port_taken
from providers.servers.granian_server import GranianServer, ServerLimits, TlsFiles, end_process

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

    from registry_app.guard.negotiation import NegotiationCopies

_LOG = logging.getLogger("dnsadmin.guard")
_STOPS = frozenset({signal.SIGTERM, signal.SIGINT})
_MEBIBYTE = 2**20
# As long as the longest deadline that is usual: what is under way is answered.
_STOP_SECONDS = 30.0
# To PostgreSQL, kept for later requests. A change set takes two.
_MOST_CONNECTIONS = 40


def main(arguments: Sequence[str]) -> int:
    # Blocked in this thread and in all it starts: a stop stays pending until it is taken.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    options = _make_parser().parse_args(arguments)
    try:
        raise_if_port_taken(options.host, options.port, hint="DNSADMIN_GUARD_PORT and DNSADMIN_GUARD_LISTEN")
        server = _start(options.host, options.port)
    except (CannotStart, BadSetting, MissingSecret, OSError) as error:
        sys.stderr.write(f"The role guard did not start. {error}\n")
        return 1
    _LOG.info("The guard listens at %s", server.url)
    signal.sigwait(_STOPS)
    server.stop()
    return 0


def build_application(copies: "NegotiationCopies", *, most_body_bytes: int) -> "WSGIApplication":
    """What the guard answers: to instances, to probes and to a monitoring system."""
    from dnsadmin.operations import OperationsApplication, WithOperations
    from registry_app.guard_http.application import GuardApplication
    from registry_app.guard_http.observer import GuardObserver

    guard = GuardApplication(copies, most_body_bytes=most_body_bytes, observers=[GuardObserver()])
    return WithOperations(guard, OperationsApplication())


def _start(host: str, port: int) -> GranianServer:
    try:
        raise_if_database_unfit()
    except DatabaseAway as error:
        _LOG.warning("%s The guard starts all the same and answers negotiations from its copies.", error)
    # Only now: its models need Django to be set up.
    from registry_app.guard.negotiation import NegotiationCopies, remember_all

    copies = NegotiationCopies(STATE_DIR / "guard-negotiations.json")
    remember_all(copies)
    most = env.int("DNSADMIN_GUARD_BODY_BYTES", default=64 * _MEBIBYTE)
    server = GranianServer(
        build_application(copies, most_body_bytes=most),
        host=host,
        port=port,
        limits=ServerLimits(stop_seconds=_STOP_SECONDS),
        tls=_find_tls(),
    )
    server.start()
    return server


def _find_tls() -> TlsFiles | None:
    names = ("DNSADMIN_GUARD_TLS_CERTIFICATE", "DNSADMIN_GUARD_TLS_KEY")
    certificate, key = (env.str(name, default="") for name in names)
    if not certificate and not key:
        return None
    if not certificate or not key:
        raise BadSetting(names[0] if key else names[1], "it is not set", "Set both or neither.")
    return TlsFiles(Path(certificate), Path(key))


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dnsadmin.guard")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", required=True, type=int)
    return parser


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnsadmin.settings")
    os.environ.setdefault("DNSADMIN_GUARD_CONNECTIONS", str(_MOST_CONNECTIONS))
    end_process(main(sys.argv[1:]))
