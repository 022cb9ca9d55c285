"""Record sets by filter, and everything about one for its page."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from providers.registries.claim import TXT_REGISTRY, ClaimFormat, ClaimVerdict, OwnershipState, TxtProfile
from providers.registries.claim import Claim as WireClaim
from providers.registries.labels import OWNER
from providers.registries.ownership import (
    ProfileFinding,
    explain_ownership,
    is_alias,
    list_warnings,
    precedence,
)
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from registry_app.models import (
    Claim,
    Finding,
    Owner,
    Provider,
    RecordEvent,
    RecordSet,
    RegistryProfile,
    TransferItem,
)
from registry_app.queries.named_row import build_prefix_query, build_suffix_query
from registry_app.queries.search import search_record_sets

MOST_CLAIMS = 100
MOST_EVENTS = 100
MOST_FINDINGS = 50
MOST_TRANSFERS = 20


@dataclass(frozen=True)
class RecordSetFilter:
    """What is left empty does not narrow. `name` and `name_suffix` are canonical, `name_prefix` the
    beginning of such a name."""

    owner: Owner | None = None
    provider: Provider | None = None
    types: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    name: str = ""
    name_prefix: str = ""
    name_suffix: str = ""
    updated_since: datetime | None = None
    is_missing: bool | None = None
    text: str = ""


def filter_record_sets(rows: QuerySet[RecordSet], wanted: RecordSetFilter) -> QuerySet[RecordSet]:
    """Those of these record sets that fit, in no order yet."""
    if wanted.owner is not None:
        rows = rows.filter(owner=wanted.owner)
    if wanted.provider is not None:
        rows = rows.filter(provider=wanted.provider)
    if wanted.types:
        rows = rows.filter(record_type__in=wanted.types)
    if wanted.states:
        rows = rows.filter(state__in=wanted.states)
    if wanted.name:
        rows = rows.filter(name=wanted.name)
    if wanted.name_prefix:
        rows = rows.filter(build_prefix_query("name", wanted.name_prefix))
    if wanted.name_suffix:
        rows = rows.filter(build_suffix_query(wanted.name_suffix))
    if wanted.updated_since is not None:
        rows = rows.filter(changed_at__gte=wanted.updated_since)
    if wanted.is_missing is not None:
        rows = rows.filter(missing_since__isnull=not wanted.is_missing)
    return search_record_sets(rows, wanted.text) if wanted.text else rows


@dataclass(frozen=True)
class ProfileOwner:
    """The owner that the instances of one registry profile find. `profile` is its name, empty for
    ExternalDNS's default settings if no profile has them; `place` is the TXT name of the claim that names the
    owner, empty for a row of a store and for the provider's label (`source` is "claim" or "label")."""

    profile: str
    owner: str
    source: str
    place: str

    def for_explanation(self) -> ProfileFinding:
        """The same for `explain_ownership`."""
        profile = f"the profile {self.profile}" if self.profile else "ExternalDNS's default settings"
        by_label = "the label owner of the provider"
        return ProfileFinding(
            profile, self.owner, by_label if self.source == "label" else self.place or "its row"
        )


@dataclass(frozen=True)
class RecordSetPage:
    """`claims` are in order of precedence; `why` says in one sentence who owns it and why. `beliefs` say
    which registry profile finds which owner, `warnings` what else names an owner and is ignored."""

    record_set: RecordSet
    claims: list[Claim]
    why: str
    beliefs: list[ProfileOwner]
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
    record_set: RecordSet, key: EndpointKey, claims: list[WireClaim], beliefs: list[ProfileOwner]
) -> str:
    """One sentence. A missing record set lost its claims with it, so they do not say who owned it."""
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
        found=[belief.for_explanation() for belief in beliefs],
    )


def _label_owner(record_set: RecordSet) -> str:
    return str(record_set.labels.get(OWNER, ""))


def _list_beliefs(record_set: RecordSet, claims: list[Claim]) -> list[ProfileOwner]:
    """What is stored; without that, every effective claim names the owner, for its own profile."""
    if not record_set.beliefs:
        deciding = (claim for claim in claims if claim.verdict == Claim.Verdict.EFFECTIVE)
        return [
            ProfileOwner(
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
        ProfileOwner(names.get(belief["profile_id"], ""), belief["owner"], belief["source"], belief["place"])
        for belief in record_set.beliefs
    ]


def fetch_claims_of(record_set: RecordSet) -> list[Claim]:
    """The claims of a record set, as providers.registries.pairing pairs them."""
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
    return is_alias(Endpoint(record_type="A", provider_specific=_properties_of(record_set)))


def build_endpoint_of(record_set: RecordSet) -> Endpoint:
    """A record set of the mirror as a value, under its canonical name."""
    return Endpoint(
        dns_name=record_set.name,
        targets=tuple(record_set.targets),
        record_type=record_set.record_type,
        set_identifier=record_set.set_identifier,
        record_ttl=record_set.ttl,
        provider_specific=_properties_of(record_set),
    )


def _properties_of(record_set: RecordSet) -> tuple[ProviderSpecificProperty, ...]:
    return tuple(
        ProviderSpecificProperty(str(item.get("name", "")), str(item.get("value", "")))
        for item in record_set.provider_specific
    )


def _to_wire(claim: Claim) -> WireClaim:
    owner_id, profile = claim.owner.owner_id if claim.owner else "", claim.registry_profile
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
        registry=TXT_REGISTRY if claim.txt_name else profile.kind if profile else "former",
    )
