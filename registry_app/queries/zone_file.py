"""The mirror of a provider as a zone file (RFC 1035), in slices: what is there, with its ownership records.

What no zone file can hold (set identifiers, aliases, types of a provider's own) is in comments, as JSON on
one line. Names are absolute, because a provider may have several zones; no zone's SOA is in the mirror. The
last line is a comment that counts what is before it: without it the file is not complete.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from providers.backends.errors import ChangeImpossible
from providers.backends.txt_target import meaningful_properties
from providers.backends.zone_value import build_rdataset, parse_name
from providers.wire.endpoint import Endpoint
from registry_app.actor import Actor
from registry_app.models import Claim, Provider, RecordSet
from registry_app.queries.keyset import BY_NAME, Keyset, iterate_slices
from registry_app.queries.readable import readable
from registry_app.queries.record_set import build_endpoint_of

# RFC 4027
MEDIA_TYPE = "text/dns"
# Of what has none in the mirror, as our own zone files have it.
DEFAULT_TTL = 300
_SLICE = 1_000
# As an index has them.
_BY_CLAIMED_NAME = Keyset(("record_name", "id"))
_RECORD_SETS, _CLAIMS, _COMMENTS = "record sets", "ownership records (claims)", "in comments"


def iterate_zone_file(actor: Actor, provider: Provider) -> Iterator[bytes]:
    """The file, a piece for each slice."""
    counts: Counter[str] = Counter()
    yield _join(_describe(provider))
    present = RecordSet.objects.filter(provider=provider, missing_since__isnull=True)
    for rows in iterate_slices(readable(actor, present), BY_NAME, _SLICE):
        yield _join(line for row in rows for line in _format_record_set(row, counts))
    yield _join(["", f"; {_CLAIMS.capitalize()}. The mirror has no TTL of them."])
    claims = Claim.objects.filter(provider=provider).only("record_name", "txt_name", "raw", "set_identifier")
    for found in iterate_slices(readable(actor, claims), _BY_CLAIMED_NAME, _SLICE):
        yield _join(line for claim in found for line in _format_claim(claim, counts))
    numbers = ", ".join(f"{counts[what]} {what}" for what in (_RECORD_SETS, _CLAIMS, _COMMENTS))
    yield _join(["", f"; closing: {numbers}"])


def _describe(provider: Provider) -> list[str]:
    read_at = provider.accepted_at.isoformat(timespec="seconds") if provider.accepted_at else "never"
    return [
        f"; Mirror of the provider {_quote(provider.name)}, last snapshot {read_at}.",
        "; It has no SOA record. What a zone file cannot hold is in comments.",
        "$ORIGIN .",
        f"$TTL {DEFAULT_TTL}",
        "",
    ]


def _format_record_set(row: RecordSet, counts: Counter[str]) -> list[str]:
    endpoint = build_endpoint_of(row)
    properties = meaningful_properties(endpoint)
    # An alias is looked up by the provider: its target is no value of its type.
    plain = endpoint if "alias" in properties else _without_properties(endpoint)
    try:
        lines = _format_endpoint(plain)
    except ChangeImpossible as error:
        return _comment_out(endpoint, str(error), counts)
    counts[_RECORD_SETS] += 1
    dropped = [f"; with the properties {_quote(properties)}"] if properties else []
    return [*dropped, *lines]


def _format_claim(claim: Claim, counts: Counter[str]) -> list[str]:
    if not claim.txt_name:
        return []  # a row of a store outside the zone
    endpoint = Endpoint(claim.txt_name, (claim.raw,), "TXT", claim.set_identifier)
    try:
        lines = _format_endpoint(endpoint)
    except ChangeImpossible as error:
        return _comment_out(endpoint, str(error), counts)
    counts[_CLAIMS] += 1
    return lines


def _format_endpoint(endpoint: Endpoint) -> list[str]:
    """A line for each target. Raises ChangeImpossible for what has no place in a zone file."""
    rdataset = build_rdataset(endpoint, DEFAULT_TTL)
    # Without one of its own, `$TTL` is the TTL.
    ttl = f" {endpoint.record_ttl}" if endpoint.record_ttl else ""
    start = f"{parse_name(endpoint.dns_name).to_text()}{ttl} IN {endpoint.record_type.upper()}"
    return [f"{start} {rdata.to_text()}" for rdata in rdataset]


def _without_properties(endpoint: Endpoint) -> Endpoint:
    return msgspec.structs.replace(endpoint, provider_specific=())


def _comment_out(endpoint: Endpoint, why: str, counts: Counter[str]) -> list[str]:
    counts[_COMMENTS] += 1
    reason = why.removesuffix(" Nothing was applied.")
    return [f"; not here: {_quote(reason)}", f"; {_quote(msgspec.to_builtins(endpoint))}"]


def _quote(value: object) -> str:
    """On one line, whatever it contains: a line break in a comment would begin a record."""
    return json.dumps(value, ensure_ascii=True)


def _join(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
