"""`python -m providers.servers`: one backend behind the webhook or plugin protocol until a signal ends it."""

import argparse
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from providers.backends.errors import BackendError
from providers.servers.authentication import RequiredCredential
from providers.servers.backend_catalogue import BACKENDS, list_backends
from providers.servers.encryption_key_option import add_encryption_key_argument, fetch_encryption_keys
from providers.servers.external_dns_flags import describe_flags
from providers.servers.filter_option import add_filter_argument
from providers.servers.granian_server import GranianServer, TlsFiles
from providers.servers.operations_application import OperationsApplication, RequestMetrics
from providers.servers.parent_process import ParentGone, end_with_parent
from providers.servers.plugin_application import PluginApplication
from providers.servers.provider_application import ProviderApplication
from providers.servers.webhook_application import WebhookApplication
from providers.wire.errors import WireError

_LOG = logging.getLogger("providers.servers")
_USUAL_PORT, _USUAL_OPERATIONS_PORT = 8888, 8080
_BASIC_VARIABLE = "PROVIDER_SERVER_BASIC"
_BEARER_VARIABLE = "PROVIDER_SERVER_BEARER"
_STOPS = frozenset({signal.SIGTERM, signal.SIGINT})
_EPILOG = f"""\
Credentials are taken from the environment, never from arguments: {_BASIC_VARIABLE}=user:secret or
{_BEARER_VARIABLE}=token. When the server is ready it writes one line of JSON with its addresses, and the
flags of ExternalDNS to use with it. Refused requests and changes are logged to stderr.
"""


_PROTOCOLS: Mapping[str, type[ProviderApplication]] = MappingProxyType(
    {"webhook": WebhookApplication, "plugin": PluginApplication}
)


class _CannotStart(Exception):
    """Something given to the command cannot be used."""


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Serve until SIGTERM or SIGINT. The exit status: 0 stopped, 1 could not start, 2 wrong arguments."""
    parser = _make_parser()
    options = parser.parse_args(arguments)
    if options.list:
        sys.stdout.write(list_backends())
        return 0
    if options.backend is None:
        parser.error("name the backend to serve; --list shows them")
    # The first line of stdout is for programs; what a person reads goes to stderr.
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    # Blocked in this thread and all it starts, a stop stays pending until it is taken. One that a handler
    # answers is lost if it comes between the decision to wait and the wait, or to another thread.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        if options.exit_with_parent is not None:
            end_with_parent(options.exit_with_parent)
        servers = _start(options, environment)
    except (_CannotStart, ParentGone, BackendError, WireError, OSError, ValueError) as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        sys.stderr.write(f"The server cannot start: {error}\n")
        return 1
    signal.sigwait(_STOPS)
    for server in servers:
        server.stop()
    return 0


def _start(options: argparse.Namespace, environment: Mapping[str, str]) -> list[GranianServer]:
    backend = BACKENDS[options.backend].build(options, environment)
    metrics = RequestMetrics()
    credential = _find_credential(environment)
    application = _PROTOCOLS[options.protocol](
        backend, credential=credential, observers=(metrics,), refusal_observers=(metrics,)
    )
    server = GranianServer(application, host=options.host, port=options.port, tls=_find_tls(options))
    server.start()
    hint = describe_flags(
        server.url,
        options,
        has_credential=credential is not None,
        has_keys=bool(fetch_encryption_keys(options, environment)),
    )
    ready = {
        "backend": options.backend,
        "protocol": options.protocol,
        "url": server.url,
        "port": server.port,
        "external_dns": hint,
    }
    servers: list[GranianServer] = [server]
    operations_port = choose_operations_port(options.port, options.operations_port)
    if operations_port is not None:
        operations = GranianServer(OperationsApplication(metrics), host=options.host, port=operations_port)
        try:
            operations.start()
        except OSError as error:
            server.stop()
            raise _CannotStart(
                f"/healthz and /metrics cannot be served on port {operations_port}: {error}. Choose "
                "another one with --operations-port, or off."
            ) from error
        servers.append(operations)
        ready |= {"operations_url": operations.url, "operations_port": operations.port}
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()
    _LOG.info("Use it with: %s", hint)
    return servers


def choose_operations_port(port: int, told: int | None) -> int | None:
    """Where /healthz and /metrics are: as it was told (below zero: nowhere), else beside the usual port on
    the usual second one, and nowhere beside any other, of which there may be several."""
    if told is None:
        return _USUAL_OPERATIONS_PORT if port == _USUAL_PORT else None
    return told if told >= 0 else None


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m providers.servers",
        description="Serve a DNS backend over the webhook protocol, or the plugin protocol before it.",
        epilog=_EPILOG,
    )
    parser.add_argument("--list", action="store_true", help="name the backends and their options")
    choices = parser.add_subparsers(dest="backend", title="backends", metavar="BACKEND")
    for name, choice in BACKENDS.items():
        command = choices.add_parser(name, help=choice.summary, description=choice.summary, epilog=_EPILOG)
        choice.add_arguments(command)
        _add_server_arguments(command)
    parser.set_defaults(exit_with_parent=None)
    return parser


def _add_server_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--protocol", choices=sorted(_PROTOCOLS), default="webhook", help="protocol (%(default)s)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--port", type=_port, default=_USUAL_PORT, help="port, 0 for a free one (%(default)s)"
    )
    parser.add_argument(
        "--operations-port",
        type=_operations_port,
        help="port of /healthz and /metrics, 0 for a free one, or off "
        f"({_USUAL_OPERATIONS_PORT} beside port {_USUAL_PORT}, else off)",
    )
    add_filter_argument(parser)
    add_encryption_key_argument(parser)
    parser.add_argument("--tls-certificate", type=Path, metavar="FILE", help="certificate chain, PEM")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="its private key, PEM")
    parser.add_argument(
        "--exit-with-parent",
        type=int,
        nargs="?",
        const=0,
        metavar="PID",
        help="stop when the starting process ends, even if killed (Linux); PID: its id, to be sure",
    )


def _find_credential(environment: Mapping[str, str]) -> RequiredCredential | None:
    basic, bearer = environment.get(_BASIC_VARIABLE, ""), environment.get(_BEARER_VARIABLE, "")
    if basic and bearer:
        raise _CannotStart(f"{_BASIC_VARIABLE} and {_BEARER_VARIABLE} are both set; keep one.")
    if bearer:
        return RequiredCredential.bearer(bearer)
    if not basic:
        return None
    user, colon, secret = basic.partition(":")
    if not colon or not secret:
        raise _CannotStart(f"{_BASIC_VARIABLE} must be of the form user:secret.")
    return RequiredCredential.basic(user, secret)


def _find_tls(options: argparse.Namespace) -> TlsFiles | None:
    if options.tls_certificate is None and options.tls_key is None:
        return None
    if options.tls_certificate is None or options.tls_key is None:
        raise _CannotStart("--tls-certificate and --tls-key go together.")
    if b"ENCRYPTED" in options.tls_key.read_bytes():
        raise _CannotStart("The key of --tls-key is encrypted. Give one that is not.")
    return TlsFiles(options.tls_certificate, options.tls_key)


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError(text)
    return port


def _operations_port(text: str) -> int:
    return -1 if text == "off" else _port(text)


def main() -> int:
    """The command, with this process's arguments and environment."""
    return run(sys.argv[1:], os.environ)
