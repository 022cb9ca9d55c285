"""The backends that can be served. A new one is one file in `providers/backends` and one line here."""

import argparse
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Protocol, cast

from providers.backends.backend import Backend, BackendOptions

# What each serves, by the name of its module.
BACKENDS: Mapping[str, str] = MappingProxyType(
    {
        "zone_file": "Zones in BIND master files on disk; they survive restarts.",
        "route53": "Hosted zones of AWS Route 53. Credentials, region and endpoint come from where AWS's own "
        "tools take them: AWS_ACCESS_KEY_ID, AWS_PROFILE, AWS_ENDPOINT_URL and their files.",
        "rfc2136": "Zones of a name server that takes dynamic updates (RFC 2136), such as BIND or Knot. The "
        "TSIG key comes from --key-file, or from RFC2136_TSIG_KEY_NAME, RFC2136_TSIG_SECRET and "
        "RFC2136_TSIG_ALGORITHM.",
        "powerdns": "Zones of a PowerDNS Authoritative server, through its HTTP API. The key comes from "
        "PDNS_API_KEY or --api-key-file.",
        "memory": "Records in memory, gone when the server stops.",
    }
)


class BackendModule(Protocol):
    """What the module of a backend offers beside its class."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Its own options."""
        ...

    def build(self, options: BackendOptions) -> Backend:
        """The backend of these options. Raises BackendError, WireError, OSError or ValueError where it cannot
        be made."""
        ...


def load_backend(name: str) -> BackendModule:
    """The module of a backend. Its library is imported only then: zone files need no cloud's SDK."""
    return cast("BackendModule", import_module(f"providers.backends.{name}"))


def list_backends() -> str:
    """Every backend with its options, as a person reads them."""
    return "\n".join(map(_describe, BACKENDS))


def _describe(name: str) -> str:
    parser = argparse.ArgumentParser(prog=name, usage=argparse.SUPPRESS, add_help=False)
    load_backend(name).add_arguments(parser)
    options = [line for line in parser.format_help().splitlines() if line.startswith(" ")]
    return "\n".join([f"{name}: {BACKENDS[name]}", *options, ""])
