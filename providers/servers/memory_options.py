"""Records in memory on the command line."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from providers.backends.backend import Backend
from providers.backends.memory import ApplyMode, MemoryBackend
from providers.servers.encryption_key_option import fetch_encryption_keys
from providers.servers.filter_option import build_domain_filter
from providers.wire.json_codec import decode_endpoints_strict

SUMMARY = "Records in memory, gone when the server stops."
_MOST_SEED_ITEMS = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What it begins with, and how it behaves."""
    parser.add_argument("--seed", type=Path, metavar="FILE", help="endpoints to begin with, a JSON array")
    parser.add_argument(
        "--mode",
        type=ApplyMode,
        choices=list(ApplyMode),
        default=ApplyMode.EACH,
        help="how a change set is applied; all but each imitate other providers (%(default)s)",
    )
    parser.add_argument(
        "--any-old-value", action="store_true", help="do not compare updateOld and delete with what is held"
    )


def build(options: argparse.Namespace, environment: Mapping[str, str]) -> Backend:
    """The backend. Raises WireError for a seed that cannot be read."""
    seed: Path | None = options.seed
    endpoints = decode_endpoints_strict(seed.read_bytes(), max_items=_MOST_SEED_ITEMS) if seed else ()
    return MemoryBackend(
        endpoints,
        mode=options.mode,
        value_exact=False if options.any_old_value else None,
        domain_filter=build_domain_filter(options),
        encryption_keys=fetch_encryption_keys(options, environment),
    )
