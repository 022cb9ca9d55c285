"""Which of the claims for one record set decides, and the sentence that says why."""

from collections.abc import Sequence
from enum import IntEnum

from providers.registries.claim import TXT_REGISTRY, Claim, ClaimVerdict
from providers.wire.endpoint import Endpoint, EndpointKey


class Precedence(IntEnum):
    """Before which other claims a claim for a record set is heard; the lowest first."""

    TYPED = 0  # its TXT name holds the record's own type
    ALIAS = 1  # a `cname-` claim of an alias A record, as ExternalDNS once wrote them
    LEGACY = 2  # no type in the TXT name


def precedence(record_type: str, claim_type: str) -> Precedence:
    """How a claim that speaks for a record set of this type is heard."""
    if not claim_type:
        return Precedence.LEGACY
    return Precedence.TYPED if claim_type == record_type else Precedence.ALIAS


def is_alias(endpoint: Endpoint) -> bool:
    """Whether an A endpoint may also be claimed by a `cname-` TXT."""
    return any(item.name == "alias" and item.value in {"true", "A"} for item in endpoint.provider_specific)


def explain_ownership(
    record_key: EndpointKey,
    claims: Sequence[Claim],
    *,
    is_known: bool = True,
) -> str:
    """One plain sentence on who owns a record set and why, from all claims that speak for it. `is_known`:
    that no claim was found means that there is none."""
    record = f"{record_key.name} {record_key.record_type}"
    # A row written before its record set stands beside one that is another: it is an orphan.
    claims = [claim for claim in claims if claim.verdict != ClaimVerdict.ORPHAN]
    readable = sorted(
        (claim for claim in claims if claim.owner_id and claim.verdict != ClaimVerdict.UNREADABLE),
        key=lambda claim: (precedence(record_key.record_type, claim.record_type), claim.endpoint.dns_name),
    )
    owners = sorted({claim.owner_id for claim in readable})
    if len(owners) > 1:
        named = ", ".join(f"{_place_of(claim)} names {claim.owner_id}" for claim in readable)
        return f"Nobody is taken as the owner of {record}, because its claims disagree: {named}."
    if readable:
        return _explain_owner(record, record_key.record_type, readable)
    if claims:
        first = min(claims, key=lambda claim: claim.endpoint.dns_name)
        problem = first.problem.removesuffix(".") or "it cannot be read"
        return f"The owner of {record} is unknown, because of its claim at {_place_of(first)}: {problem}."
    if not is_known:
        return (
            f"The owner of {record} is unknown: no claim was found, but one may stand among what could not "
            "be read, or its name lies where an owner keeps no claims (noop)."
        )
    return f"{record} is unmanaged, because no claim speaks for it."


def _explain_owner(record: str, record_type: str, readable: Sequence[Claim]) -> str:
    first = readable[0]
    because = {
        Precedence.TYPED: "names it",
        Precedence.ALIAS: "names it, in the `cname-` form once written for alias records",
        Precedence.LEGACY: "names it, in the legacy format that speaks for every type but AAAA",
    }[precedence(record_type, first.record_type)]
    agreeing = f"; {len(readable) - 1} more say the same" if len(readable) > 1 else ""
    place = _place_of(first) if first.registry != TXT_REGISTRY else f"the TXT record {_place_of(first)}"
    return f"{first.owner_id} owns {record}, because {place} {because}{agreeing}."


def _place_of(claim: Claim) -> str:
    if claim.registry == TXT_REGISTRY:
        return claim.endpoint.dns_name
    return f"its row in the {claim.registry} registry"
