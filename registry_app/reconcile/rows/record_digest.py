"""What is compared at a sync, as 16 bytes a row. Pure.

blake2b and not a faster hash: a provider's response is hostile, and a change that collides is never seen.
"""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from providers.registries.claim import Belief, Claim, PairedEndpoint
from providers.wire.canonical_name import InvalidName, canonical_name
from registry_app.mirror.snapshot import Snapshot

DIGEST_BYTES = 16
_encode = msgspec.msgpack.Encoder(order="sorted").encode


def compute_record_digest(
    record: PairedEndpoint, resource: str, beliefs: Sequence[Mapping[str, object]] = ()
) -> bytes:
    """Everything a RecordSet row holds of a snapshot; the order of targets and properties is not in it."""
    endpoint = record.endpoint
    targets = endpoint.targets if len(endpoint.targets) < 2 else sorted(set(endpoint.targets))
    properties = endpoint.provider_specific
    values = (
        targets,
        endpoint.record_ttl,
        sorted((item.name, item.value) for item in properties) if properties else (),
        endpoint.labels,
        record.state,
        record.owner_id,
        resource,
    )
    # Rows without them, nearly all, keep the digest that an older release gave them.
    return _digest((*values, beliefs) if beliefs else values)


def compute_claim_identity(claim: Claim) -> bytes:
    """Identifies a claim: its place, its raw text, and the record set that it claims."""
    place = (
        txt_name_of(claim),
        claim.endpoint.set_identifier,
        claim.raw,
        claim.record_name,
        claim.record_type,
    )
    return _digest(place if claim.is_in_zone else (*place, claim.profile.reference))


def compute_claim_digest(claim: Claim) -> bytes:
    """Everything else a Claim row holds."""
    return _digest(
        (
            claim.format,
            claim.verdict,
            claim.owner_id,
            claim.labels,
            claim.profile.reference,
            claim.is_encrypted,
            claim.problem,
        )
    )


def txt_name_of(claim: Claim) -> str:
    """The canonical name of the TXT record of a claim."""
    try:
        return canonical_name(claim.endpoint.dns_name)
    except InvalidName:
        # Nothing unnamed comes out of a decoded snapshot; a claim made elsewhere keeps its spelling.
        return claim.endpoint.dns_name.lower()


def _digest(values: tuple[object, ...]) -> bytes:
    return hashlib.blake2b(_encode(values), digest_size=DIGEST_BYTES).digest()


BY_CLAIM = "claim"
BY_LABEL = "label"

JsonBelief = dict[str, object]


def describe_beliefs(snapshot: Snapshot, record: PairedEndpoint) -> list[JsonBelief]:
    """Which profile finds which owner, as `RecordSet.beliefs` holds it, in a fixed order."""
    return [_describe(*values) for values in sorted({_values_of(each, snapshot) for each in record.beliefs})]


def _values_of(belief: Belief, snapshot: Snapshot) -> tuple[str, str, str, str]:
    if belief.claim is None:
        return belief.profile_reference, belief.owner_id, BY_LABEL, ""
    claim = snapshot.claims[belief.claim]
    place = txt_name_of(claim) if claim.is_in_zone else ""
    return belief.profile_reference, belief.owner_id, BY_CLAIM, place


def _describe(reference: str, owner_id: str, source: str, place: str) -> JsonBelief:
    profile_id = int(reference) if reference else None
    return {"profile_id": profile_id, "owner": owner_id, "source": source, "place": place}
