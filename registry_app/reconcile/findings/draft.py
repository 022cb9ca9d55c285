"""A finding before it is a row, and the words and requests that several findings share."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from providers.registries.claim import Claim
from providers.wire.endpoint import EndpointKey
from registry_app.models import Finding
from registry_app.reconcile.rows.record_digest import compute_claim_identity, txt_name_of

Kind = Finding.Kind
Severity = Finding.Severity
JsonObject = dict[str, object]


@dataclass(frozen=True)
class FindingDraft:
    """One thing found. `subject` is what makes it the same finding the next time, within kind and provider.

    `suggestion` is a ready request: the fields of a transfer's request, or another act by its name.
    """

    kind: Kind
    severity: Severity
    subject: str
    explanation: str
    name: str = ""
    record_type: str = ""
    set_identifier: str = ""
    owner_id: str = ""
    suggestion: Mapping[str, object] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)

    def fingerprint(self, provider_id: int) -> bytes:
        """The 16 bytes under which it is one row, however often it is seen."""
        return compute_fingerprint(self.kind, provider_id, self.subject)


def compute_fingerprint(kind: Kind, provider_id: int, subject: str) -> bytes:
    """16 bytes over kind, provider and subject."""
    text = f"{kind.value}\0{provider_id}\0{subject}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


ANY_TYPE = "of every type but AAAA"


def name_record(key: EndpointKey) -> str:
    """A record set as a sentence names it."""
    identifier = f" ({key.set_identifier})" if key.set_identifier else ""
    return f"{key.name} {key.record_type}{identifier}"


def name_place(claim: Claim) -> str:
    """The place of a claim, as a sentence names it."""
    if claim.is_in_zone:
        return f"the TXT record {txt_name_of(claim)}"
    return f"the row in the {claim.registry} registry"


def name_claimed(claim: Claim) -> str:
    """The record set of a claim, as a sentence names it."""
    return f"{claim.record_name} {claim.record_type or ANY_TYPE}"


def subject_of(key: EndpointKey) -> str:
    """What makes a finding about a record set the same the next time."""
    return "\0".join(key)


def select_records(provider_id: int, keys: Iterable[EndpointKey]) -> JsonObject:
    """The selection of a transfer's request: record sets by name and type."""
    wanted = list(keys)
    return {
        "provider_id": provider_id,
        "names": sorted({key.name for key in wanted}),
        "record_types": sorted({key.record_type for key in wanted}),
    }


def suggest_registering(owner_id: str) -> JsonObject:
    """A person says where an owner runs, and how it writes."""
    return {"kind": "register_owner", "owner_id": owner_id}


def select_claim(provider_id: int, claim: Claim) -> JsonObject:
    """The selection of a clean-up's request: a claim by its identity (`Claim.identity`, hexadecimal)."""
    return {"provider_id": provider_id, "claim_refs": [compute_claim_identity(claim).hex()]}
