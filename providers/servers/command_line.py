"""`python -m providers.servers`: one backend behind the webhook or plugin protocol until a signal ends it."""

import argparse
import ctypes
import json
import logging
import os
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from providers.backends.backend import BackendOptions
from providers.backends.errors import BackendError
from providers.registries.encryption import parse_encryption_key
from providers.registries.errors import InvalidEncryptionKey
from providers.servers.backend_catalogue import BACKENDS, list_backends, load_backend
from providers.servers.granian_server import GranianServer, TlsFiles
from providers.servers.operations_application import OperationsApplication, RequestMetrics
from providers.servers.provider_application import PluginApplication, ProviderApplication, WebhookApplication
from providers.servers.wsgi_application import RequiredCredential
from providers.wire.domain_filter import DomainFilter
from providers.wire.errors import WireError

_LOG = logging.getLogger("providers.servers")
_USUAL_PORT, _USUAL_OPERATIONS_PORT = 8888, 8080
# As ExternalDNS itself names its flag --txt-encrypt-aes-key in the environment.
_KEY_VARIABLE = "EXTERNAL_DNS_TXT_ENCRYPT_AES_KEY"
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
# What ExternalDNS manages by default; named, because more may be added here.
_MANAGED_TYPES = ("A", "AAAA", "CNAME")
_PR_SET_PDEATHSIG = 1


class _CannotStart(Exception):
    """Something given to the command cannot be used."""


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Serve until SIGTERM or SIGINT. The exit status: 0 stopped, 1 could not start, 2 wrong arguments."""
    parser = _make_parser(arguments)
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
            _end_with_parent(options.exit_with_parent)
        servers = _start(options, environment)
    except (_CannotStart, BackendError, WireError, OSError, ValueError) as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        sys.stderr.write(f"The server cannot start: {error}\n")
        return 1
    signal.sigwait(_STOPS)
    for server in servers:
        server.stop()
    return 0


def _start(options: argparse.Namespace, environment: Mapping[str, str]) -> list[GranianServer]:
    keys = _fetch_encryption_keys(options, environment)
    domains = options.domain_filter
    domain_filter = DomainFilter(include=tuple(domains)) if domains else None
    backend = load_backend(options.backend).build(BackendOptions(options, environment, domain_filter, keys))
    metrics = RequestMetrics()
    credential = _find_credential(environment)
    application = _PROTOCOLS[options.protocol](
        backend, credential=credential, observers=(metrics,), refusal_observers=(metrics,)
    )
    server = GranianServer(application, host=options.host, port=options.port, tls=_find_tls(options))
    server.start()
    servers = [server]
    hint = _describe_flags(server.url, options, has_credential=credential is not None, has_keys=bool(keys))
    ready = {
        "backend": options.backend,
        "protocol": options.protocol,
        "url": server.url,
        "port": server.port,
        "external_dns": hint,
    }
    operations = _start_operations(options, metrics, server)
    if operations is not None:
        servers.append(operations)
        ready |= {"operations_url": operations.url, "operations_port": operations.port}
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()
    _LOG.info("Use it with: %s", hint)
    return servers


def _start_operations(
    options: argparse.Namespace, metrics: RequestMetrics, server: GranianServer
) -> GranianServer | None:
    port = choose_operations_port(options.port, options.operations_port)
    if port is None:
        return None
    operations = GranianServer(OperationsApplication(metrics), host=options.host, port=port)
    try:
        operations.start()
    except OSError as error:
        server.stop()
        raise _CannotStart(
            f"/healthz and /metrics cannot be served on port {port}: {error}. Choose another one with "
            "--operations-port, or off."
        ) from error
    return operations


def choose_operations_port(port: int, given: int | None) -> int | None:
    """The port of /healthz and /metrics: the given one (below zero: none), else 8080 beside 8888, and none
    beside any other port, of which there may be several."""
    if given is None:
        return _USUAL_OPERATIONS_PORT if port == _USUAL_PORT else None
    return given if given >= 0 else None


def _make_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m providers.servers",
        description="Serve a DNS backend over the webhook protocol, or the plugin protocol before it.",
        epilog=_EPILOG,
    )
    parser.add_argument("--list", action="store_true", help="name the backends and their options")
    choices = parser.add_subparsers(dest="backend", title="backends", metavar="BACKEND")
    for name, summary in BACKENDS.items():
        command = choices.add_parser(name, help=summary, description=summary, epilog=_EPILOG)
        if name in arguments:
            load_backend(name).add_arguments(command)
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
    parser.add_argument(
        "--domain-filter", action="append", default=[], metavar="DOMAIN", help="serve only this; repeatable"
    )
    parser.add_argument(
        "--txt-encrypt-aes-key-file",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="the key of ExternalDNS's --txt-encrypt-aes-key, to compare encrypted claims by what they say; "
        f"repeatable (also {_KEY_VARIABLE})",
    )
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


def _fetch_encryption_keys(options: argparse.Namespace, environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """The keys of the files and of the environment. Raises ValueError, without the key, for one that is none,
    and OSError for a file that cannot be read."""
    # A key may end in a blank, but no editor leaves a file without its last line break.
    paths = options.txt_encrypt_aes_key_file
    texts = [(path.name, path.read_text("utf-8").removesuffix("\n").removesuffix("\r")) for path in paths]
    if environment.get(_KEY_VARIABLE):
        texts.append((_KEY_VARIABLE, environment[_KEY_VARIABLE]))
    keys: list[bytes] = []
    for where, text in texts:
        try:
            keys.append(parse_encryption_key(text))
        except InvalidEncryptionKey as error:
            raise ValueError(f"{where}: {error}") from None
    return tuple(dict.fromkeys(keys))


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


def _describe_flags(url: str, options: argparse.Namespace, *, has_credential: bool, has_keys: bool) -> str:
    """One line to copy: what the user must choose is in capital letters, and no secret is in it."""
    if options.protocol != "webhook":
        return "no ExternalDNS of today, which speaks the webhook protocol; start it with --protocol webhook"
    address = url.replace("://", "://USER:SECRET@", 1) if has_credential else url
    flags = ["--provider=webhook", f"--webhook-provider-url={address}"]
    flags += ["--registry=txt", "--txt-owner-id=CHOOSE-ONE-FOR-EACH-INSTANCE"]
    flags += [f"--managed-record-types={each}" for each in _MANAGED_TYPES]
    flags += [f"--domain-filter={each}" for each in options.domain_filter]
    # PowerDNS takes no name such as the claim of a wildcard, `a-*.example.org`.
    flags += ["--txt-wildcard-replacement=any"] if options.backend == "powerdns" else []
    if has_keys:
        flags += ["--txt-encrypt-enabled", "--txt-encrypt-aes-key=THE-SAME-KEY"]
    return f"external-dns {shlex.join(flags)}"


def _end_with_parent(expected: int) -> None:
    """Have Linux send SIGTERM to this process when its parent ends.

    `expected` is the parent's process id, or 0 for whoever it is. Giving it closes a gap: a parent that ended
    before this call is never seen to end. Raises _CannotStart then, and where this is not Linux.

    A trap for supervisors: to the kernel the parent is the thread that started the process. If that thread
    ends, the signal comes, though the rest of the parent lives on.
    """
    if sys.platform != "linux":
        raise _CannotStart("Ending with the parent process works on Linux only; start without that option.")
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) != 0:
        raise _CannotStart(f"The parent process cannot be watched: {os.strerror(ctypes.get_errno())}.")
    if expected and os.getppid() != expected:
        raise _CannotStart(f"The parent process {expected} has ended already.")


def main() -> int:
    """The command, with this process's arguments and environment."""
    return run(sys.argv[1:], os.environ)
