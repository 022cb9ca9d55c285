"""A claim whose verdict is still being found."""

import msgspec

from providers.registries.claim import Claim, ClaimVerdict
from providers.registries.claim_reading import Reference, Statement
from providers.registries.gather import Record
from providers.registries.labels import OWNER, RESOURCE

_UNREGISTERED = "No registered profile fits this TXT name; its prefix or suffix may be unregistered."
_ORPHANED = (
    "There is no record set at the claimed name. Before you remove the claim, make sure that no "
    "instance writes its claims with a prefix, suffix or wildcard replacement that is not registered."
)


class ClaimDraft(msgspec.Struct, gc=False):
    """What one statement says and points to; the flags gather over all record sets that it covers.

    `owner_id` is empty and `problem` says why where the statement is not valid. `unused_because` says why
    ExternalDNS does not obey it for some record set.
    """

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
    def txt(self) -> Record:
        """The TXT record set that the statement is in."""
        return self.statement.txt

    @property
    def txt_name(self) -> str:
        """The canonical name of that TXT record set."""
        return self.statement.txt.key.name

    def sort_key(self) -> tuple[str, ...]:
        reference, key = self.reference, self.statement.txt.key
        return (
            reference.record_names[0],
            reference.record_type,
            key.set_identifier,
            key.name,
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
        statement, reference = self.statement, self.reference
        txt = statement.txt
        return Claim(
            endpoint=txt.endpoint,
            raw=statement.raw,
            format=reference.format,
            profile=reference.profile,
            record_name=reference.record_names[0],
            record_type=reference.record_type,
            set_identifier=txt.endpoint.set_identifier,
            owner_id=self.owner_id,
            resource=statement.labels.get(RESOURCE, ""),
            labels=statement.labels,
            is_encrypted=statement.encryption_key is not None or statement.is_guess,
            verdict=verdict,
            problem=problem,
            parts=txt.endpoints,
        )

    def _verdict(self) -> ClaimVerdict:
        if self.problem:
            return ClaimVerdict.UNREADABLE
        if self.disagrees:
            return ClaimVerdict.CONFLICTING
        if self.decides:
            return ClaimVerdict.EFFECTIVE
        if self.is_ignored:
            return ClaimVerdict.IGNORED
        if self.is_overruled:
            return ClaimVerdict.OVERRULED
        if self.is_superseded:
            return ClaimVerdict.SUPERSEDED
        if self.is_obsolete:
            return ClaimVerdict.OBSOLETE
        # An orphan would be cleaned up, and this claim may protect a record set whose instance writes its
        # claims under a prefix that is not registered: unreadable is the safe verdict.
        return ClaimVerdict.ORPHAN if self.reference.is_registered else ClaimVerdict.UNREADABLE


def draft_claim(statement: Statement, reference: Reference) -> ClaimDraft:
    """A draft that was not compared with any record set yet."""
    owner_id = "" if statement.problem else statement.labels[OWNER]
    return ClaimDraft(statement, reference, owner_id, statement.problem)
