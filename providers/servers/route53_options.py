"""Route 53 on the command line."""

import argparse
from collections.abc import Mapping

from providers.backends.backend import Backend
from providers.servers.encryption_key_option import fetch_encryption_keys
from providers.servers.filter_option import build_domain_filter

SUMMARY = (
    "Hosted zones of AWS Route 53. Credentials, region and endpoint come from where AWS's own tools take "
    "them: AWS_ACCESS_KEY_ID, AWS_PROFILE, AWS_ENDPOINT_URL and their files."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which zones are served, and how."""
    parser.add_argument(
        "--zone-id", action="append", default=[], metavar="ID", help="serve only this zone; repeatable"
    )
    parser.add_argument("--zone-type", choices=("public", "private"), help="serve only zones of this type")
    parser.add_argument(
        "--prefer-cname", action="store_true", help="leave a CNAME to a service of AWS a CNAME"
    )
    parser.add_argument(
        "--deadline", type=float, default=60.0, metavar="SECONDS", help="of one call (%(default)s)"
    )


def build(options: argparse.Namespace, environment: Mapping[str, str]) -> Backend:
    """The backend. Raises BackendError for settings of AWS that cannot be used."""
    from providers.backends.route53 import Route53Backend
    from providers.backends.route53_api import Route53Api

    return Route53Backend(
        Route53Api(seconds=options.deadline),
        domain_filter=build_domain_filter(options),
        encryption_keys=fetch_encryption_keys(options, environment),
        zone_ids=options.zone_id,
        is_private=None if options.zone_type is None else options.zone_type == "private",
        prefer_cname=options.prefer_cname,
    )
