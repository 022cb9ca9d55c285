"""Name servers with dynamic update on the command line."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from providers.backends.backend import Backend
from providers.servers.encryption_key_option import fetch_encryption_keys
from providers.servers.filter_option import build_domain_filter

SUMMARY = (
    "Zones of a name server that takes dynamic updates (RFC 2136), such as BIND or Knot. The TSIG key comes "
    "from --key-file, or from RFC2136_TSIG_KEY_NAME, RFC2136_TSIG_SECRET and RFC2136_TSIG_ALGORITHM."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the name server is, and which of its zones are served."""
    parser.add_argument("--server", default="127.0.0.1", metavar="HOST", help="the primary (%(default)s)")
    parser.add_argument("--server-port", type=int, default=53, metavar="PORT", help="its port (%(default)s)")
    parser.add_argument(
        "--zone", action="append", required=True, metavar="DOMAIN", help="a zone to serve; repeatable"
    )
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="a key as tsig-keygen writes it")
    parser.add_argument(
        "--default-ttl", type=int, default=300, metavar="SECONDS", help="where none is wanted (%(default)s)"
    )
    parser.add_argument(
        "--deadline", type=float, default=30.0, metavar="SECONDS", help="of one exchange (%(default)s)"
    )


def build(options: argparse.Namespace, environment: Mapping[str, str]) -> Backend:
    """The backend. Raises BackendError for a key or a zone that cannot be used."""
    from providers.backends.rfc2136 import Rfc2136Backend
    from providers.backends.tsig_key import fetch_tsig_key
    from providers.backends.zone_transfer import NameServer

    server = NameServer(
        options.server,
        options.server_port,
        key=fetch_tsig_key(options.key_file, environment),
        seconds=options.deadline,
    )
    return Rfc2136Backend(
        server,
        options.zone,
        domain_filter=build_domain_filter(options),
        encryption_keys=fetch_encryption_keys(options, environment),
        default_ttl=options.default_ttl,
    )
