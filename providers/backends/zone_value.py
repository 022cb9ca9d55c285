"""Endpoints and rdatasets: one value of the wire and of a zone file, both ways. Pure.

A TXT of several strings is shown as one target, and a long one is split again into strings of at most 255
bytes: only their concatenation means anything.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import cast

import dns.exception
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdataset
import dns.rdatatype
import dns.ttl
import msgspec
from dns.rdtypes.ANY.MX import MX
from dns.rdtypes.ANY.TXT import TXT
from dns.rdtypes.IN.SRV import SRV
from dns.rdtypes.nsbase import NSBase

from providers.backends.errors import ChangeImpossible, describe
from providers.backends.single_change import key_of
from providers.backends.txt_target import (
    format_txt_target,
    is_claim,
    meaningful_properties,
    parse_txt_target,
    put_claims_first,
    split_strings,
)
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import KNOWN_RECORD_TYPES, Endpoint, EndpointKey

# Everything else in a zone (SOA, DNSSEC, types ExternalDNS does not know) is kept, and never shown.
SERVED_TYPES = {dns.rdatatype.from_text(each): each for each in KNOWN_RECORD_TYPES}

_NAME_TARGETS = ("CNAME", "NS", "PTR", "DNAME")
_LONGEST_TTL = 2**31 - 1
# A target with one of these would end early, run on, or turn into a comment in a zone file.
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f;()]")
_FORBIDDEN_IN_NAPTR = re.compile(r"[\x00-\x1f\x7f]")


def build_rdataset(
    endpoint: Endpoint, default_ttl: int, *, held: dns.rdataset.Rdataset | None = None
) -> dns.rdataset.Rdataset:
    """The rdataset that holds an endpoint. A TXT target that `held` has already stays as it is there, split
    into the same strings. Raises ChangeImpossible for what has no place in a zone file."""
    key = key_of(endpoint)
    _raise_if_unplaceable(endpoint, key)
    ttl = endpoint.record_ttl or default_ttl
    kept: dict[str, list[dns.rdata.Rdata]] = {}
    for rdata in held or () if key.record_type == "TXT" else ():
        kept.setdefault(_format_txt(rdata), []).append(rdata)
    found: list[dns.rdata.Rdata] = []
    for target in dict.fromkeys(endpoint.targets):
        found += kept.get(target) or [_build_rdata(key, target)]
    return dns.rdataset.from_rdata_list(ttl, found)


def build_endpoint(name: dns.name.Name, rdataset: dns.rdataset.Rdataset) -> Endpoint:
    """The endpoint that shows a served rdataset, in the one form in which this backend writes it."""
    record_type = SERVED_TYPES[rdataset.rdtype]
    format_rdata = _FORMATS.get(record_type, dns.rdata.Rdata.to_text)
    targets = tuple(format_rdata(rdata) for rdata in rdataset)
    return Endpoint(
        dns_name=format_name(name),
        targets=put_claims_first(targets) if record_type == "TXT" else targets,
        record_type=record_type,
        record_ttl=rdataset.ttl,
    )


def raise_if_unplaceable(endpoint: Endpoint) -> None:
    """Raise ChangeImpossible where no zone can hold a wanted endpoint. Of its properties only an alias is in
    the way: the others go when endpoints are adjusted."""
    parse_name(key_of(endpoint).name)
    build_rdataset(_with_alias_alone(endpoint), default_ttl=1)


def adjust_targets(endpoint: Endpoint) -> Endpoint:
    """The endpoint with its targets as they would be read back, without properties, which no zone holds; its
    own TTL and labels stay."""
    placed = build_endpoint(dns.name.root, build_rdataset(_with_alias_alone(endpoint), default_ttl=1))
    return Endpoint(
        dns_name=endpoint.dns_name,
        targets=placed.targets,
        record_type=endpoint.record_type,
        set_identifier=endpoint.set_identifier,
        record_ttl=endpoint.record_ttl,
        labels=endpoint.labels,
    )


def _with_alias_alone(endpoint: Endpoint) -> Endpoint:
    if not endpoint.provider_specific:
        return endpoint
    alias = tuple(each for each in endpoint.provider_specific if each.name == "alias")
    return msgspec.structs.replace(endpoint, provider_specific=alias)


def adjust_where_possible(endpoint: Endpoint) -> Endpoint:
    """As `adjust_targets`; what no zone can hold comes back as it is."""
    try:
        return adjust_targets(endpoint)
    except ChangeImpossible:
        return endpoint


def parse_name(name: str) -> dns.name.Name:
    """A canonical name as dnspython's value. Raises ChangeImpossible for a spelling with needless escapes.

    `\\097.example.org` is `a.example.org` to the zone and another name to everybody who compares texts.
    """
    try:
        parsed = dns.name.from_text(name, origin=dns.name.root)
    except dns.exception.DNSException as error:
        raise ChangeImpossible(f"{name[:253]} is not a name: {error}. Nothing was applied.") from None
    if format_name(parsed) != name:
        raise ChangeImpossible(
            f"{name[:253]} has another spelling, {format_name(parsed)}. Nothing was applied."
        )
    return parsed


def format_name(name: dns.name.Name) -> str:
    """A name as the wire has it: lower case, no trailing dot."""
    return name.to_text(omit_final_dot=True).lower()


def _build_rdata(key: EndpointKey, target: str) -> dns.rdata.Rdata:
    try:
        if key.record_type == "TXT":
            return TXT(dns.rdataclass.IN, dns.rdatatype.TXT, tuple(split_strings(parse_txt_target(target))))
        return _parse_rdata(key.record_type, target)
    except (dns.exception.DNSException, InvalidName, ValueError) as error:
        raise ChangeImpossible(
            f"{describe(key)}: the target {target[:100]!r} cannot be written into a zone file: "
            f"{error}. Nothing was applied."
        ) from error


def _parse_rdata(record_type: str, target: str) -> dns.rdata.Rdata:
    forbidden = _FORBIDDEN_IN_NAPTR if record_type == "NAPTR" else _FORBIDDEN
    if forbidden.search(target):
        raise ValueError("it has a control character, a semicolon or a parenthesis")
    text = canonical_name(target) + "." if record_type in _NAME_TARGETS and target != "." else target
    return dns.rdata.from_text(dns.rdataclass.IN, record_type, text, dns.name.root, relativize=False)


def _raise_if_unplaceable(endpoint: Endpoint, key: EndpointKey) -> None:
    problem = ""
    if key.record_type not in KNOWN_RECORD_TYPES:
        problem = f"type {key.record_type} is not served; known are {', '.join(KNOWN_RECORD_TYPES)}"
    elif key.set_identifier:
        problem = "a zone file has no place for a set identifier; remove the routing policy"
    elif _find_misplaced(endpoint):
        names = ", ".join(_find_misplaced(endpoint))
        problem = f"a zone file has no place for provider-specific properties ({names[:200]}); remove them"
    elif not endpoint.targets:
        problem = "it has no targets"
    elif not 0 <= endpoint.record_ttl <= _LONGEST_TTL:
        problem = f"TTL {endpoint.record_ttl} is outside 0 to {_LONGEST_TTL}"
    elif key.record_type in ("CNAME", "DNAME") and len(endpoint.targets) > 1:
        problem = f"a {key.record_type} has exactly one target"
    if problem:
        raise ChangeImpossible(f"{describe(key)}: {problem}. Nothing was applied.")


def _find_misplaced(endpoint: Endpoint) -> list[str]:
    """The properties that ask for something a zone cannot do. A claim carries a copy of its record's, which
    means nothing."""
    return [] if is_claim(endpoint) else sorted(meaningful_properties(endpoint))


def _format_txt(rdata: dns.rdata.Rdata) -> str:
    return format_txt_target(b"".join(cast("TXT", rdata).strings))


def _format_name_target(rdata: dns.rdata.Rdata) -> str:
    return format_name(cast("NSBase", rdata).target)


def _format_mx(rdata: dns.rdata.Rdata) -> str:
    mx = cast("MX", rdata)
    return f"{mx.preference} {format_name(mx.exchange)}"


def _format_srv(rdata: dns.rdata.Rdata) -> str:
    # ExternalDNS wants the final dot here, and in NAPTR, where it trims it from all other targets.
    srv = cast("SRV", rdata)
    return f"{srv.priority} {srv.weight} {srv.port} {srv.target.to_text().lower()}"


_FORMATS: dict[str, Callable[[dns.rdata.Rdata], str]] = {
    "TXT": _format_txt,
    "MX": _format_mx,
    "SRV": _format_srv,
    **dict.fromkeys(_NAME_TARGETS, _format_name_target),
}


def served_rdatasets(rdatasets: Iterable[dns.rdataset.Rdataset]) -> Iterator[dns.rdataset.Rdataset]:
    """Those of a node's rdatasets that the wire may see."""
    return (each for each in rdatasets if each.rdtype in SERVED_TYPES)
