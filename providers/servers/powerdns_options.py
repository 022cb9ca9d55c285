"""PowerDNS on the command line."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from providers.backends.backend import Backend
from providers.servers.encryption_key_option import fetch_encryption_keys
from providers.servers.filter_option import build_domain_filter

_KEY = "PDNS_API_KEY"
SUMMARY = (
    f"Zones of a PowerDNS Authoritative server, through its HTTP API. The key comes from {_KEY} or "
    "--api-key-file."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the API is."""
    parser.add_argument(
        "--api-url", default="http://127.0.0.1:8081", metavar="URL", help="of the API (%(default)s)"
    )
    parser.add_argument("--api-key-file", type=Path, metavar="FILE", help="a file that holds the key")
    parser.add_argument(
        "--server-id", default="localhost", metavar="NAME", help="the server's id there (%(default)s)"
    )


def build(options: argparse.Namespace, environment: Mapping[str, str]) -> Backend:
    """The backend. Raises ValueError where there is no key, OSError where its file cannot be read."""
    from providers.backends.powerdns import PowerDnsBackend
    from providers.backends.powerdns_api import PowerDnsApi

    path: Path | None = options.api_key_file
    key = path.read_text(encoding="utf-8").strip() if path else environment.get(_KEY, "")
    if not key:
        raise ValueError(f"No API key is given; set {_KEY} or name a file with --api-key-file.")
    api = PowerDnsApi(options.api_url, key, options.server_id)
    return PowerDnsBackend(
        api,
        domain_filter=build_domain_filter(options),
        encryption_keys=fetch_encryption_keys(options, environment),
    )
