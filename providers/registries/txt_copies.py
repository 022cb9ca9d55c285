"""TXT records of the zone that repeat claims of a registry store. The claim in the store decides. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec

from providers.registries.claim import Claim, PairedEndpoint, TxtProfile
from providers.registries.errors import RegistryError
from providers.registries.labels import format_writable
from providers.registries.ownership import is_alias
from providers.registries.txt_names import format_legacy_txt_name, format_txt_name
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint

_MOST_SHOWN = 500


def list_copy_names(record: Endpoint, profile: TxtProfile) -> set[str]:
    """The canonical TXT names at which instances with this profile look for a claim of a record set."""
    return {name for each in _format_names(record, profile) if (name := _find_canonical(each))}


def find_copies(
    record: PairedEndpoint, numbers: Iterable[int], claims: Sequence[Claim], profile: TxtProfile
) -> list[int]:
    """Which of these claims are TXT records at a place where the claim of a record set is repeated."""
    in_zone = [number for number in numbers if claims[number].is_in_zone]
    if not in_zone:
        return []
    names = list_copy_names(record.endpoint, profile)
    if record.endpoint.dns_name != record.key.name:
        names |= list_copy_names(msgspec.structs.replace(record.endpoint, dns_name=record.key.name), profile)
    return [number for number in in_zone if _find_canonical(claims[number].endpoint.dns_name) in names]


def describe_copy_difference(claim: Claim, copies: Sequence[Claim]) -> str:
    """How the TXT copies of a stored claim differ from it, as sentences; empty if they do not. `copies` are
    those of one record set."""
    if not copies:
        return "There is no TXT record that repeats it."
    differing = (each for each in copies if each.labels != claim.labels)
    return " ".join(_describe(each, claim) for each in differing)


def _describe(copy: Claim, claim: Claim) -> str:
    name = copy.endpoint.dns_name
    if not copy.owner_id:
        return f"The TXT record {name} cannot be read: {copy.problem}"
    shown = format_writable(copy.labels)[:_MOST_SHOWN]
    return f"The TXT record {name} has {shown}, and the claim is {claim.raw[:_MOST_SHOWN]}."


def _format_names(record: Endpoint, profile: TxtProfile) -> Iterator[str]:
    record_type = record.record_type.upper()
    types = [record_type, *(["CNAME"] if record_type == "A" and is_alias(record) else [])]
    for each in types:
        with suppress(RegistryError, InvalidName):
            yield format_txt_name(record.dns_name, each, profile)
    if record_type != "AAAA":
        with suppress(RegistryError, InvalidName):
            yield format_legacy_txt_name(record.dns_name, profile)


def _find_canonical(name: str) -> str:
    try:
        return canonical_name(name)
    except InvalidName:
        return ""
