"""The backends that can be served, by name: what each takes on the command line, and how it is made.

Each kind's own library is imported when that kind is chosen: who serves zone files needs no cloud's SDK.
"""

import argparse
from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from providers.backends.backend import Backend
from providers.servers import (
    memory_options,
    powerdns_options,
    rfc2136_options,
    route53_options,
    zone_file_options,
)

Environment = Mapping[str, str]


class BackendKind(msgspec.Struct, frozen=True):
    """One kind of backend. `build` gets the parsed options and the environment: credentials come from the
    environment or from files, never from arguments. It raises BackendError, WireError, OSError or ValueError
    where the backend cannot be made."""

    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    build: Callable[[argparse.Namespace, Environment], Backend]


BACKENDS: Mapping[str, BackendKind] = MappingProxyType(
    {
        "zone_file": BackendKind(
            zone_file_options.SUMMARY, zone_file_options.add_arguments, zone_file_options.build
        ),
        "route53": BackendKind(route53_options.SUMMARY, route53_options.add_arguments, route53_options.build),
        "rfc2136": BackendKind(rfc2136_options.SUMMARY, rfc2136_options.add_arguments, rfc2136_options.build),
        "powerdns": BackendKind(
            powerdns_options.SUMMARY, powerdns_options.add_arguments, powerdns_options.build
        ),
        "memory": BackendKind(memory_options.SUMMARY, memory_options.add_arguments, memory_options.build),
    }
)


def list_backends() -> str:
    """Every kind with its options, as a person reads them."""
    return "\n".join(_describe(name, kind) for name, kind in BACKENDS.items())


def _describe(name: str, kind: BackendKind) -> str:
    parser = argparse.ArgumentParser(prog=name, usage=argparse.SUPPRESS, add_help=False)
    kind.add_arguments(parser)
    options = [line for line in parser.format_help().splitlines() if line.startswith(" ")]
    return "\n".join([f"{name}: {kind.summary}", *options, ""])
