"""The one value that travels: an ExternalDNS Endpoint."""

from typing import NamedTuple

import msgspec

# The types ExternalDNS knows. Others occur on the wire and are mirrored as they are.
KNOWN_RECORD_TYPES = ("A", "AAAA", "CNAME", "TXT", "SRV", "NS", "PTR", "MX", "NAPTR", "DNAME")


class ProviderSpecificProperty(msgspec.Struct, frozen=True, gc=False):
    """One provider-specific setting of an endpoint, such as `alias` = `true`."""

    name: str = ""
    value: str = ""


class ValuePair(NamedTuple):
    """A provider-specific property as it is and as it is wanted, to ask whether both mean the same.

    A side that does not have the property is empty text.
    """

    name: str
    previous: str
    current: str


class Endpoint(
    msgspec.Struct,
    frozen=True,
    gc=False,
    omit_defaults=True,
    rename={
        "dns_name": "dnsName",
        "record_type": "recordType",
        "set_identifier": "setIdentifier",
        "record_ttl": "recordTTL",
        "provider_specific": "providerSpecific",
    },
):
    """A name, its type and its targets, exactly as one side wrote them.

    Nothing is normalized here: what a value-exact provider is sent back as `updateOld` must be
    what it said, byte for byte. `canonical_name.endpoint_key` gives the identity used for matching.
    An absent field and `null` both decode to the default. `record_ttl` is in seconds, 0 = not configured.
    """

    dns_name: str = ""
    targets: tuple[str, ...] = ()
    record_type: str = ""
    set_identifier: str = ""
    record_ttl: int = 0
    labels: dict[str, str] = {}
    provider_specific: tuple[ProviderSpecificProperty, ...] = ()


class EndpointKey(NamedTuple):
    """The identity of an endpoint: canonical name, upper-case record type, set identifier."""

    name: str
    record_type: str
    set_identifier: str


def is_same_ttl(one: int, other: int) -> bool:
    """Whether two TTLs agree, as old values and readings compare them: one that is not stated fits any."""
    return one == other or not one or not other
