"""Zone files on the command line."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from providers.backends.backend import Backend
from providers.backends.zone_file import ZoneFileBackend
from providers.servers.encryption_key_option import fetch_encryption_keys
from providers.servers.filter_option import build_domain_filter

SUMMARY = "Zones in BIND master files on disk; they survive restarts."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the zones are."""
    parser.add_argument("path", type=Path, help="a zone file, or a folder of example.org.zone and so on")


def build(options: argparse.Namespace, environment: Mapping[str, str]) -> Backend:
    """The backend. Raises BackendError where the zones cannot be read."""
    return ZoneFileBackend(
        options.path,
        domain_filter=build_domain_filter(options),
        encryption_keys=fetch_encryption_keys(options, environment),
    )
