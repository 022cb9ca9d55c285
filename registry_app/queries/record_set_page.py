"""All that is known of one record set, for the page a person reads."""

from dataclasses import dataclass

from django.db.models import Q

from providers.registries.claim import TXT_REGISTRY, ClaimFormat, ClaimVerdict, OwnershipState, TxtProfile
from providers.registries.claim import Claim as WireClaim
from providers.registries.labels import OWNER
from providers.registries.ownership import Told, explain_ownership, is_alias, list_warnings, precedence
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from registry_app.models import Claim, Finding, RecordEvent, RecordSet, RegistryProfile, TransferItem

MOST_CLAIMS = 100
MOST_EVENTS = 100
MOST_FINDINGS = 50
MOST_TRANSFERS = 20


@dataclass(frozen=True)
class ProfileBelief:
    """What the instances of one registry profile take for the owner. `profile` is its name, empty for
    ExternalDNS's default settings where nobody registered them; `place` is the TXT name of the claim they
    obey, empty for a row of a store and for the provider's label (`source` is "claim" or "label")."""

    profile: str
    owner: str
    source: str
    place: str

    def to_told(self) -> Told:
        """In the words of the sentence that explains."""
        profile = f"the profile {self.profile}" if self.profile else "ExternalDNS's default settings"
        by_label = "the label owner of the provider"
        return Told(profile, self.owner, by_label if self.source == "label" else self.place or "its row")


@dataclass(frozen=True)
class RecordSetPage:
    """`claims` stand in the order they are heard; `why` says in one sentence who owns it and why. `beliefs`
    say which registry profile finds which owner, `warnings` what else names an owner without being obeyed."""

    record_set: RecordSet
    claims: list[Claim]
    why: str
    beliefs: list["ProfileBelief"]
    warnings: list[str]
    events: list[RecordEvent]
    findings: list[Finding]
    transfers: list[TransferItem]


def fetch_record_set_page(record_set: RecordSet) -> RecordSetPage:
    """Claims, reason, history, findings and transfers, each bounded and by an index."""
    claims = fetch_claims_of(record_set)
    wire = [_to_wire(claim) for claim in claims]
    beliefs = _list_beliefs(record_set, claims)
    is_there = record_set.missing_since is None
    owner_id = record_set.owner.owner_id if record_set.owner else ""
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
        why=_explain(record_set, key, wire, beliefs),
        beliefs=beliefs if is_there else [],
        warnings=list_warnings(owner_id, wire, _label_owner(record_set)) if is_there else [],
        events=list(RecordEvent.objects.filter(**exact)[:MOST_EVENTS]),
        findings=list(findings.exclude(state=Finding.State.RESOLVED)[:MOST_FINDINGS]),
        transfers=list(transfers.order_by("-id")[:MOST_TRANSFERS]),
    )


def _explain(
    record_set: RecordSet, key: EndpointKey, claims: list[WireClaim], beliefs: list[ProfileBelief]
) -> str:
    """One sentence. What is missing lost its claims with it: they say nothing of whose it was."""
    owner = record_set.owner
    if record_set.missing_since is not None:
        whose = f"{owner.owner_id} owned it" if owner else f"it was {record_set.get_state_display().lower()}"
        return f"{key.name} {key.record_type} is gone; when it was last read, {whose}."
    return explain_ownership(
        key,
        OwnershipState(record_set.state),
        owner.owner_id if owner else "",
        claims,
        label_owner=_label_owner(record_set),
        told=[belief.to_told() for belief in beliefs],
    )


def _label_owner(record_set: RecordSet) -> str:
    return str(record_set.labels.get(OWNER, ""))


def _list_beliefs(record_set: RecordSet, claims: list[Claim]) -> list[ProfileBelief]:
    """What is stored; where nothing is, all that decide name the owner, each to its own profile."""
    if not record_set.beliefs:
        deciding = (claim for claim in claims if claim.verdict == Claim.Verdict.EFFECTIVE)
        return [
            ProfileBelief(
                claim.registry_profile.name if claim.registry_profile else "",
                claim.owner.owner_id,
                "claim",
                claim.txt_name,
            )
            for claim in deciding
            if claim.owner is not None and claim.owner == record_set.owner
        ]
    names = dict(RegistryProfile.objects.values_list("pk", "name"))
    return [
        ProfileBelief(names.get(belief["profile_id"], ""), belief["owner"], belief["source"], belief["place"])
        for belief in record_set.beliefs
    ]


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
