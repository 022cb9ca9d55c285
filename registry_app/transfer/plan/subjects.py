"""What a plan is made from: record sets and claims as values, and which claim speaks for which. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from providers.registries.claim import ClaimVerdict, OwnershipState
from providers.registries.labels import OWNER
from providers.registries.ownership import is_alias, precedence
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from registry_app.transfer.plan.claim_key import ClaimKey


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """One claim of the mirror. `owner_id` is empty where it cannot be read."""

    id: int
    place: ClaimKey
    raw: str
    verdict: str
    record_name: str
    record_type: str
    owner_id: str
    profile_reference: str
    is_encrypted: bool

    @property
    def is_readable(self) -> bool:
        return bool(self.owner_id) and self.verdict != ClaimVerdict.UNREADABLE


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """One record set of the mirror."""

    id: int
    key: EndpointKey
    targets: tuple[str, ...]
    ttl: int
    provider_specific: tuple[ProviderSpecificProperty, ...]
    state: str
    owner_id: str
    is_missing: bool
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def label_owner(self) -> str:
        """The owner that the provider's own label names; empty for none."""
        return self.labels.get(OWNER, "")

    def to_endpoint(self) -> Endpoint:
        return Endpoint(
            dns_name=self.key.name,
            targets=self.targets,
            record_type=self.key.record_type,
            set_identifier=self.key.set_identifier,
            record_ttl=self.ttl,
            provider_specific=self.provider_specific,
        )

    def to_dict(self) -> dict[str, Any]:
        """What a person reviews, and what is compared with the provider before anything is sent."""
        return {
            "targets": list(self.targets),
            "ttl": self.ttl,
            "provider_specific": [[item.name, item.value] for item in self.provider_specific],
            "state": self.state,
            **({"label_owner": self.label_owner} if self.label_owner else {}),
        }


@dataclass(frozen=True, slots=True)
class Subject:
    """A record set with every claim that speaks for it, in the order in which they are heard."""

    record: RecordFacts
    claims: tuple[ClaimFacts, ...]

    @property
    def readable(self) -> tuple[ClaimFacts, ...]:
        """The claims that have a part in whose it is: of what somebody owns, those of its owner. Another's,
        which ExternalDNS does not obey for it, is no part of it and stays as it is."""
        readable = (claim for claim in self.claims if claim.is_readable)
        if self.record.state == OwnershipState.OWNED:
            return tuple(claim for claim in readable if claim.owner_id == self.record.owner_id)
        return tuple(readable)

    @property
    def unheard(self) -> tuple[ClaimFacts, ...]:
        """Readable claims of others that ExternalDNS does not obey, as long as the owner's own stand."""
        counting = self.readable
        return tuple(claim for claim in self.claims if claim.is_readable and claim not in counting)

    @property
    def owner_ids(self) -> tuple[str, ...]:
        if self.record.state == OwnershipState.OWNED:
            return (self.record.owner_id,)
        return tuple(sorted({claim.owner_id for claim in self.readable}))


def build_subjects(records: Iterable[RecordFacts], claims: Iterable[ClaimFacts]) -> tuple[Subject, ...]:
    """Join record sets and claims as providers.registries.pairing does."""
    by_record: dict[tuple[str, str], list[ClaimFacts]] = defaultdict(list)
    for claim in claims:
        by_record[claim.record_name, claim.place.set_identifier].append(claim)
    return tuple(_build_subject(record, by_record) for record in records)


def _build_subject(record: RecordFacts, by_record: Mapping[tuple[str, str], list[ClaimFacts]]) -> Subject:
    name, record_type, set_identifier = record.key
    types = {record_type}
    if record_type != "AAAA":
        types.add("")
    if record_type == "A" and is_alias(record.to_endpoint()):
        types.add("CNAME")
    found = [claim for claim in by_record.get((name, set_identifier), ()) if _speaks(claim, record, types)]
    found.sort(key=lambda claim: (precedence(record_type, claim.record_type), claim.place, claim.raw))
    return Subject(record, tuple(found))


def _speaks(claim: ClaimFacts, record: RecordFacts, types: set[str]) -> bool:
    if claim.place.store:
        # A row speaks for exactly its record set, and not at all where it was meant for another one.
        return claim.record_type == record.key.record_type and claim.verdict != ClaimVerdict.ORPHAN
    # A TXT endpoint that mixes heritage with other targets does not claim itself.
    is_itself = record.key.record_type == "TXT" and claim.place.name == record.key.name
    return claim.record_type in types and not is_itself
