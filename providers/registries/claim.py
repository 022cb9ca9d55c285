"""Values: registry profiles, claims, and the ownership that they add up to."""

from enum import StrEnum

import msgspec

from providers.wire.endpoint import Endpoint, EndpointKey

TXT_REGISTRY = "txt"


class OwnershipState(StrEnum):
    """What is known of who owns a record set. Unmanaged and unknown are read-only."""

    OWNED = "owned"
    UNMANAGED = "unmanaged"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"


class ClaimFormat(StrEnum):
    """How a claim's TXT name encodes the record set that it is for."""

    NEW = "new"  # the record's type is in the TXT name
    LEGACY = "legacy"  # no type: for every type at the name but AAAA (before ExternalDNS v0.12)


class ClaimVerdict(StrEnum):
    """What a claim amounts to beside the record sets and the other claims of its provider."""

    EFFECTIVE = "effective"  # it decides the owner of at least one record set
    SUPERSEDED = "superseded"  # legacy, beside new-format claims of the same owner for all it covers
    OBSOLETE = "obsolete"  # a `cname-` claim of an alias A record that has its own `a-` claim
    CONFLICTING = "conflicting"  # another profile finds another owner for the same record set
    OVERRULED = "overruled"  # another claim decides for all it covers, and it is not a leftover as above
    IGNORED = "ignored"  # no profile obeys it, and nothing else names an owner of what it covers
    ORPHAN = "orphan"  # there is no record set where it points
    UNREADABLE = "unreadable"  # looks like a claim, and its labels cannot be read


class TxtProfile(msgspec.Struct, frozen=True, gc=False):
    """Settings of one ExternalDNS instance's TXT registry. Prefix and suffix are never both set.

    `reference` is the caller's own id of the profile; nothing here interprets it.
    `encryption_key` is 32 bytes, or None where claims are plain text.
    """

    reference: str = ""
    prefix: str = ""
    suffix: str = ""
    wildcard_replacement: str = ""
    encryption_key: bytes | None = None

    def __repr__(self) -> str:
        # The key must not reach a log or a traceback with the profile.
        key = None if self.encryption_key is None else "<hidden>"
        return (
            f"TxtProfile(reference={self.reference!r}, prefix={self.prefix!r}, suffix={self.suffix!r}, "
            f"wildcard_replacement={self.wildcard_replacement!r}, encryption_key={key})"
        )


DEFAULT_PROFILE = TxtProfile()


class Claim(msgspec.Struct, frozen=True, gc=False):
    """One ownership statement: one heritage target of one TXT endpoint, or one row of a registry store.

    `endpoint` is the TXT endpoint as read, `raw` the target that holds the statement, quotes included. In a
    store (`registry` says of which kind) `raw` is the heritage text, and the endpoint has no name.
    `record_type` is empty for the legacy format. `labels` keep the keys without `external-dns/`;
    `owner_id` repeats `labels["owner"]`, and is empty for an unreadable claim. `problem` says why an
    unreadable claim is so, why ExternalDNS does not obey one that is overruled or ignored, and what to make
    sure of before an orphan is removed; else it is empty. `parts` are there where the provider lists several
    endpoints for the one TXT record set: these, in its order; `endpoint` is then all of them together.
    """

    endpoint: Endpoint
    raw: str
    format: ClaimFormat
    profile: TxtProfile
    record_name: str
    record_type: str
    set_identifier: str
    owner_id: str
    resource: str
    labels: dict[str, str]
    is_encrypted: bool
    verdict: ClaimVerdict
    problem: str = ""
    registry: str = TXT_REGISTRY
    parts: tuple[Endpoint, ...] = ()

    @property
    def is_in_zone(self) -> bool:
        """Whether it is a TXT record of the zone, and not a row of a registry store."""
        return self.registry == TXT_REGISTRY


class Belief(msgspec.Struct, frozen=True, gc=False):
    """Which owner the instances of one registry profile find for a record set.

    `profile_reference` is `TxtProfile.reference`. `claim` is the index of the claim they obey in
    `Pairing.claims`; None: they use the label `owner` that the provider returns with the record set.
    """

    profile_reference: str
    owner_id: str
    claim: int | None = None


class PairedEndpoint(msgspec.Struct, frozen=True, gc=False):
    """An endpoint that is not a claim, and its owner.

    `effective_claim` is an index into `Pairing.claims` (None unless owned by a claim); `claims` are the
    indexes of every claim for the endpoint, effective first. `owner_id` is empty unless owned.
    `beliefs` say which profile finds which owner. They are left out where there is nothing to tell: every
    claim is obeyed, or left over from the same owner, and all name one owner.
    `parts` are there where the provider lists several endpoints for the one record set, as in `Claim`.
    """

    key: EndpointKey
    endpoint: Endpoint
    state: OwnershipState
    owner_id: str
    effective_claim: int | None
    claims: tuple[int, ...]
    beliefs: tuple[Belief, ...] = ()
    parts: tuple[Endpoint, ...] = ()


class Pairing(msgspec.Struct, frozen=True):
    """All endpoints of one provider, as record sets and claims."""

    records: tuple[PairedEndpoint, ...]
    claims: tuple[Claim, ...]
