"""All that is known of one record set, for the page a person reads."""

from dataclasses import dataclass

from django.db.models import Q

from providers.registries.claim import TXT_REGISTRY, ClaimFormat, ClaimVerdict, OwnershipState, TxtProfile
from providers.registries.claim import Claim as WireClaim
from providers.registries.ownership import explain_ownership, is_alias, precedence
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from registry_app.models import Claim, Finding, RecordEvent, RecordSet, TransferItem

MOST_CLAIMS = 100
MOST_EVENTS = 100
MOST_FINDINGS = 50
MOST_TRANSFERS = 20


@dataclass(frozen=True)
class RecordSetPage:
    """`claims` stand in the order they are heard; `why` says in one sentence who owns it and why."""

    record_set: RecordSet
    claims: list[Claim]
    why: str
    events: list[RecordEvent]
    findings: list[Finding]
    transfers: list[TransferItem]


def fetch_record_set_page(record_set: RecordSet) -> RecordSetPage:
    """Claims, reason, history, findings and transfers, each bounded and by an index."""
    claims = fetch_claims_of(record_set)
    key = EndpointKey(record_set.name, record_set.record_type, record_set.set_identifier)
    identity = {"provider": record_set.provider_id, "name": key.name}
    exact = {**identity, "record_type": key.record_type, "set_identifier": key.set_identifier}
    findings = Finding.objects.filter(Q(record_type=key.record_type) | Q(record_type=""), **identity)
    transfers = TransferItem.objects.filter(
        name=key.name,
        record_type=key.record_type,
        set_identifier=key.set_identifier,
        transfer__provider=record_set.provider_id,
    ).select_related("transfer", "transfer__source_owner", "transfer__target_owner")
    return RecordSetPage(
        record_set=record_set,
        claims=claims,
        why=_explain(record_set, key, claims),
        events=list(RecordEvent.objects.filter(**exact)[:MOST_EVENTS]),
        findings=list(findings.exclude(state=Finding.State.RESOLVED)[:MOST_FINDINGS]),
        transfers=list(transfers.order_by("-id")[:MOST_TRANSFERS]),
    )


def _explain(record_set: RecordSet, key: EndpointKey, claims: list[Claim]) -> str:
    """One sentence. What is missing lost its claims with it: they say nothing of whose it was."""
    if record_set.missing_since is not None:
        owner = record_set.owner
        whose = f"{owner.owner_id} owned it" if owner else f"it was {record_set.get_state_display().lower()}"
        return f"{key.name} {key.record_type} is not there any more; when it was last read, {whose}."
    is_known = record_set.state != OwnershipState.UNKNOWN
    return explain_ownership(key, [_to_wire(claim) for claim in claims], is_known=is_known)


def fetch_claims_of(record_set: RecordSet) -> list[Claim]:
    """The claims that speak for a record set, as providers.registries.pairing pairs them."""
    types = [record_set.record_type]
    if record_set.record_type != "AAAA":
        types.append("")
    if record_set.record_type == "A" and _is_alias(record_set):
        types.append("CNAME")
    claims = list(
        Claim.objects.filter(
            provider=record_set.provider_id,
            record_name=record_set.name,
            record_type__in=types,
            set_identifier=record_set.set_identifier,
        )
        .select_related("owner")
        .prefetch_related("registry_profile__cluster")[:MOST_CLAIMS]
    )
    return sorted(claims, key=lambda claim: (precedence(record_set.record_type, claim.record_type), claim.pk))


def _is_alias(record_set: RecordSet) -> bool:
    properties = tuple(
        ProviderSpecificProperty(str(item.get("name", "")), str(item.get("value", "")))
        for item in record_set.provider_specific
    )
    return is_alias(Endpoint(record_type="A", provider_specific=properties))


def _to_wire(claim: Claim) -> WireClaim:
    owner_id = claim.owner.owner_id if claim.owner else ""
    return WireClaim(
        endpoint=Endpoint(claim.txt_name, (claim.raw,), "TXT", claim.set_identifier),
        raw=claim.raw,
        format=ClaimFormat(claim.format),
        profile=TxtProfile(),
        record_name=claim.record_name,
        record_type=claim.record_type,
        set_identifier=claim.set_identifier,
        owner_id=owner_id,
        resource=claim.resource,
        labels=claim.labels,
        is_encrypted=claim.is_encrypted,
        verdict=ClaimVerdict(claim.verdict),
        problem=claim.problem,
        registry=TXT_REGISTRY if claim.txt_name else _kind_of(claim),
    )


def _kind_of(claim: Claim) -> str:
    profile = claim.registry_profile
    return profile.kind if profile is not None else "former"
