"""The flags of ExternalDNS that go with a server. Pure."""

import argparse
import shlex

# What ExternalDNS manages unless told otherwise; named, because more may be added here.
_MANAGED_TYPES = ("A", "AAAA", "CNAME")


def describe_flags(url: str, options: argparse.Namespace, *, has_credential: bool, has_keys: bool) -> str:
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
