"""A claim whose verdict is still being found."""

import msgspec

from providers.registries.claim import Claim, ClaimVerdict
from providers.registries.claim_reading import Reference, Statement
from providers.registries.labels import OWNER, RESOURCE
from providers.wire.endpoint import Endpoint, EndpointKey

_UNREGISTERED = "No registered profile fits this TXT name; its prefix or suffix may be unregistered."
_ORPHANED = (
    "There is no record set at the claimed name. Before you remove the claim, make sure that no "
    "instance writes its claims with a prefix, suffix or wildcard replacement that is not registered."
)


class TxtPart(msgspec.Struct, frozen=True, gc=False):
    """One TXT endpoint of a TXT record set; `place` is its place in the provider's response."""

    place: int
    endpoint: Endpoint


class TxtEndpoint(msgspec.Struct, frozen=True, gc=False):
    """A TXT record set with at least one target that is, or may be, a claim.

    `endpoint` is all of it, `parts` the endpoints that the provider lists for it: one, as a rule.
    """

    key: EndpointKey
    endpoint: Endpoint
    parts: tuple[TxtPart, ...]
    statements: list[Statement]
    is_record_too: bool


class ClaimDraft(msgspec.Struct, gc=False):
    """What one statement says and points to; the flags gather over all record sets that it covers.

    `owner_id` is empty and `problem` says why where the statement is not valid. `unused_because` says why
    ExternalDNS does not obey it for some record set.
    """

    txt: TxtEndpoint
    statement: Statement
    reference: Reference
    owner_id: str
    problem: str
    decides: bool = False
    disagrees: bool = False
    is_superseded: bool = False
    is_obsolete: bool = False
    is_overruled: bool = False
    is_ignored: bool = False
    unused_because: str = ""

    @property
    def endpoint(self) -> Endpoint:
        """The TXT record set that the statement is in."""
        return self.txt.endpoint

    @property
    def txt_name(self) -> str:
        """The canonical name of that TXT record set."""
        return self.txt.key.name

    def sort_key(self) -> tuple[str, ...]:
        reference = self.reference
        return (
            reference.record_names[0],
            reference.record_type,
            self.endpoint.set_identifier,
            self.txt_name,
            self.statement.raw,
        )

    def set_aside(self, problem: str) -> None:
        self.owner_id = ""
        self.problem = self.problem or problem

    def note_unused(self, reason: str) -> None:
        """Of several reasons the same one is kept, whatever the order in which they are found."""
        self.unused_because = min(self.unused_because or reason, reason)

    def to_claim(self) -> Claim:
        verdict = self._verdict()
        problem = self.problem
        if verdict is ClaimVerdict.UNREADABLE:
            problem = problem or _UNREGISTERED
        elif verdict is ClaimVerdict.ORPHAN:
            problem = _ORPHANED
        elif verdict in {ClaimVerdict.OVERRULED, ClaimVerdict.IGNORED}:
            problem = self.unused_because
        parts = self.txt.parts
        return Claim(
            endpoint=self.endpoint,
            raw=self.statement.raw,
            format=self.reference.format,
            profile=self.reference.profile,
            record_name=self.reference.record_names[0],
            record_type=self.reference.record_type,
            set_identifier=self.endpoint.set_identifier,
            owner_id=self.owner_id,
            resource=self.statement.labels.get(RESOURCE, ""),
            labels=self.statement.labels,
            is_encrypted=self.statement.encryption_key is not None or self.statement.is_guess,
            verdict=verdict,
            problem=problem,
            parts=tuple(part.endpoint for part in parts) if len(parts) > 1 else (),
        )

    def _verdict(self) -> ClaimVerdict:
        verdicts = (
            (bool(self.problem), ClaimVerdict.UNREADABLE),
            (self.disagrees, ClaimVerdict.CONFLICTING),
            (self.decides, ClaimVerdict.EFFECTIVE),
            (self.is_ignored, ClaimVerdict.IGNORED),
            (self.is_overruled, ClaimVerdict.OVERRULED),
            (self.is_superseded, ClaimVerdict.SUPERSEDED),
            (self.is_obsolete, ClaimVerdict.OBSOLETE),
            (self.reference.is_registered, ClaimVerdict.ORPHAN),
        )
        # An orphan would be cleaned up, and this claim may protect a record set whose instance writes its
        # claims under a prefix that is not registered: unreadable is the safe verdict.
        return next((verdict for holds, verdict in verdicts if holds), ClaimVerdict.UNREADABLE)


def draft_claim(txt: TxtEndpoint, statement: Statement, reference: Reference) -> ClaimDraft:
    """A draft that was not compared with any record set yet."""
    owner_id = "" if statement.problem else statement.labels[OWNER]
    return ClaimDraft(txt, statement, reference, owner_id, statement.problem)
