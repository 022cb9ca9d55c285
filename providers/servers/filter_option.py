"""The option that every backend has: the domains it serves."""

import argparse

from providers.wire.domain_filter import DomainFilter


def add_filter_argument(parser: argparse.ArgumentParser) -> None:
    """`--domain-filter`, repeatable."""
    parser.add_argument(
        "--domain-filter", action="append", default=[], metavar="DOMAIN", help="serve only this; repeatable"
    )


def build_domain_filter(options: argparse.Namespace) -> DomainFilter | None:
    """What was asked for; None for everything."""
    return DomainFilter(include=tuple(options.domain_filter)) if options.domain_filter else None
