"""Which of the claims for one record set decides, and the sentence that says why."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from providers.registries.claim import Claim, ClaimVerdict, OwnershipState
from providers.wire.endpoint import Endpoint, EndpointKey

_NOT_USED = frozenset({ClaimVerdict.OVERRULED, ClaimVerdict.IGNORED, ClaimVerdict.UNREADABLE})


class Precedence(IntEnum):
    """Which of several claims for a record set ExternalDNS uses: the lowest."""

    TYPED = 0  # its TXT name holds the record's own type
    ALIAS = 1  # a `cname-` claim of an alias A record, as ExternalDNS once wrote them
    LEGACY = 2  # no type in the TXT name


def precedence(record_type: str, claim_type: str) -> Precedence:
    """The precedence of a claim for a record set of this type."""
    if not claim_type:
        return Precedence.LEGACY
    return Precedence.TYPED if claim_type == record_type else Precedence.ALIAS


def is_alias(endpoint: Endpoint) -> bool:
    """Whether an A endpoint may also be claimed by a `cname-` TXT."""
    if not endpoint.provider_specific:
        return False
    found = (item.value for item in endpoint.provider_specific if item.name == "alias")
    return next(found, "") in {"true", "A"}


class ProfileFinding(NamedTuple):
    """What the instances of one registry profile find: its name in words, the owner, and what says so."""

    profile: str
    owner_id: str
    place: str


def explain_ownership(
    record_key: EndpointKey,
    state: OwnershipState,
    owner_id: str,
    claims: Sequence[Claim],
    *,
    label_owner: str = "",
    found: Sequence[ProfileFinding] = (),
) -> str:
    """One plain sentence on who owns a record set and why. `claims` are all that may be meant for it,
    `label_owner` is the label that its provider returns with it, `found` what each registry profile finds."""
    record = f"{record_key.name} {record_key.record_type}"
    # A row that was written before its record set, and beside another one: it is an orphan.
    claims = [claim for claim in claims if claim.verdict != ClaimVerdict.ORPHAN]
    if state is OwnershipState.CONFLICT:
        named = "; ".join(f"{each.profile} finds {each.owner_id} ({each.place})" for each in found)
        return f"{record} has no owner, because registry profiles disagree: {named}."
    if state is OwnershipState.OWNED:
        return _explain_owner(record, record_key.record_type, owner_id, claims, label_owner)
    if state is OwnershipState.UNKNOWN:
        return _explain_unknown(record, claims)
    ignored = sorted(claim.endpoint.dns_name for claim in claims if claim.owner_id)
    if ignored:
        return (
            f"{record} is unmanaged: ExternalDNS finds no owner for it, because it ignores the claim "
            f"at {ignored[0]}."
        )
    return f"{record} is unmanaged, because it has no claim."


def list_warnings(owner_id: str, claims: Sequence[Claim], label_owner: str) -> list[str]:
    """What ExternalDNS ignores of a record set of `owner_id` (empty: unmanaged), and a person should know."""
    warnings = [_warn_of_claim(owner_id, claim) for claim in claims if claim.owner_id]
    if label_owner and label_owner != owner_id:
        warnings.append(
            f"The provider returns the record set with the label owner={label_owner}: an instance "
            f"that finds no claim uses {label_owner} as the owner. dnsadmin cannot change the label."
        )
    return [warning for warning in warnings if warning]


def _warn_of_claim(owner_id: str, claim: Claim) -> str:
    named = f"{_place_of(claim)} names {claim.owner_id}"
    if claim.verdict in {ClaimVerdict.OVERRULED, ClaimVerdict.IGNORED}:
        return f"{named}, and ExternalDNS ignores it. {claim.problem}"
    if owner_id and claim.owner_id != owner_id and claim.verdict == ClaimVerdict.EFFECTIVE:
        return f"{named}. It decides for another record set, and ExternalDNS ignores it for this one."
    return ""


def _explain_unknown(record: str, claims: Sequence[Claim]) -> str:
    unreadable = [claim for claim in claims if not claim.owner_id]
    if unreadable:
        first = min(unreadable, key=lambda claim: claim.endpoint.dns_name)
        problem = first.problem.removesuffix(".") or "it cannot be read"
        return f"The owner of {record} is unknown, because of its claim at {_place_of(first)}: {problem}."
    return (
        f"The owner of {record} is unknown: no claim was found, but some records could not be read, "
        "or an owner without claims (noop) is responsible for the name."
    )


def _explain_owner(
    record: str, record_type: str, owner_id: str, claims: Sequence[Claim], label_owner: str
) -> str:
    agreeing = sorted(
        (claim for claim in claims if claim.owner_id == owner_id and claim.verdict not in _NOT_USED),
        key=lambda claim: (precedence(record_type, claim.record_type), claim.endpoint.dns_name),
    )
    if not agreeing and label_owner == owner_id:
        return (
            f"{owner_id} owns {record}, because the provider returns it with the label "
            f"owner={owner_id}, which ExternalDNS uses if it finds no claim."
        )
    if not agreeing:
        return f"{owner_id} owns {record}, because a claim names it that can also be read for another name."
    first = agreeing[0]
    because = {
        Precedence.TYPED: "names it",
        Precedence.ALIAS: "names it, in the `cname-` form once written for alias records",
        Precedence.LEGACY: "names it, in the legacy format, which covers every type except AAAA",
    }[precedence(record_type, first.record_type)]
    more = f"; {len(agreeing) - 1} more say the same" if len(agreeing) > 1 else ""
    place = _place_of(first) if not first.is_in_zone else f"the TXT record {_place_of(first)}"
    return f"{owner_id} owns {record}, because {place} {because}{more}."


def _place_of(claim: Claim) -> str:
    if claim.is_in_zone:
        return claim.endpoint.dns_name
    return f"its row in the {claim.registry} registry"
