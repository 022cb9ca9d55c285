"""A claim whose verdict is still being found."""

import msgspec

from providers.registries.claim import Claim, ClaimVerdict
from providers.registries.claim_reading import Reference, Statement
from providers.registries.labels import OWNER, RESOURCE
from providers.wire.endpoint import Endpoint, EndpointKey

_UNREGISTERED = "No registered profile fits this TXT name; its prefix or suffix may be unregistered."
_ORPHANED = (
    "No record set stands where it points. Before it is removed, make sure that no instance writes its "
    "claims under a prefix, suffix or wildcard replacement that is not registered."
)


class ClaimDraft(msgspec.Struct, gc=False):
    """What one statement says and points to; the flags gather over all record sets it speaks for.

    `owner_id` is empty and `problem` says why where the statement cannot be believed.
    """

    endpoint: Endpoint
    statement: Statement
    reference: Reference
    txt_name: str
    owner_id: str
    problem: str
    decides: bool = False
    disagrees: bool = False
    is_superseded: bool = False
    is_obsolete: bool = False

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

    def to_claim(self) -> Claim:
        verdict = self._verdict()
        problem = self.problem
        if verdict is ClaimVerdict.UNREADABLE:
            problem = problem or _UNREGISTERED
        elif verdict is ClaimVerdict.ORPHAN:
            problem = _ORPHANED
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
        )

    def _verdict(self) -> ClaimVerdict:
        verdicts = (
            (bool(self.problem), ClaimVerdict.UNREADABLE),
            (self.disagrees, ClaimVerdict.CONFLICTING),
            (self.decides, ClaimVerdict.EFFECTIVE),
            (self.is_superseded, ClaimVerdict.SUPERSEDED),
            (self.is_obsolete, ClaimVerdict.OBSOLETE),
            (self.reference.is_registered, ClaimVerdict.ORPHAN),
        )
        # Called an orphan it would be cleaned away, and it may well protect a record set whose instance
        # writes its claims under a prefix nobody told us of: unreadable is the safe word.
        return next((verdict for holds, verdict in verdicts if holds), ClaimVerdict.UNREADABLE)


def draft_claim(
    key: EndpointKey, endpoint: Endpoint, statement: Statement, reference: Reference
) -> ClaimDraft:
    """A draft that no record set has been held against yet."""
    owner_id = "" if statement.problem else statement.labels[OWNER]
    return ClaimDraft(endpoint, statement, reference, key.name, owner_id, statement.problem)
