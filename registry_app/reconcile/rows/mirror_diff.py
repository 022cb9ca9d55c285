"""How the mirror differs from a snapshot: the rows to write, and counts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from registry_app.mirror.plausibility import LostClaims

SAMPLE_SIZE = 20


@dataclass
class Tally:
    """How the mirror and a snapshot differ, counted while they are compared.

    `owned` are known record sets with an owner that are still there; `owner_changed` those of them that
    now have another one, or none, and not by a transfer of ours. `deleted_by_us` are known ones that are
    gone because a loop of ours deleted them, `kept` those that are not listed and may be what was set aside.
    `lost_claims` are those of owners whose claims are gone from a registry store while their record sets are
    still there, and not by a transfer or loop of ours. `known_claims` and `known_record_sets` count the known
    ones by owner id.
    """

    known: int = 0
    still_there: int = 0
    deleted_by_us: int = 0
    kept: int = 0
    seen: int = 0
    owned: int = 0
    owner_changed: int = 0
    value_changed: int = 0
    claims_known: int = 0
    claims_seen: int = 0
    lost_claims: Sequence[LostClaims] = ()
    known_claims: Counter[str] = field(default_factory=Counter)
    known_record_sets: Counter[str] = field(default_factory=Counter)
    samples: dict[str, list[str]] = field(default_factory=dict)

    def sample(self, kind: str, text: str) -> None:
        """Keep the first few of a kind, to show."""
        kept = self.samples.setdefault(kind, [])
        if len(kept) < SAMPLE_SIZE:
            kept.append(text)

    def to_json(self) -> dict[str, object]:
        """Counts and samples of what would change."""
        return {
            "known": self.known,
            "seen": self.seen,
            "still_there": self.still_there,
            "vanished": self.known - self.still_there,
            "appeared": self.seen - self.still_there,
            "owner_changed": self.owner_changed,
            "value_changed": self.value_changed,
            "claims_known": self.claims_known,
            "claims_seen": self.claims_seen,
            "samples": self.samples,
        }


@dataclass(frozen=True)
class MirrorDiff:
    """Row ids of the mirror and indexes into the snapshot. `changed` pairs both; a missing record set
    that is there again is among them. `record_digests` and `claim_digests` go by the snapshot's indexes."""

    record_digests: list[bytes]
    created: Sequence[int]
    changed: list[tuple[int, int]]
    vanished: list[int]
    returned: int
    claim_digests: dict[int, tuple[bytes, bytes]]
    claims_created: Sequence[int]
    claims_changed: list[tuple[int, int]]
    claims_gone: list[int]
    claim_count: int
    tally: Tally

    @property
    def is_empty(self) -> bool:
        """Whether the mirror says the same already."""
        return not any(
            (
                self.created,
                self.changed,
                self.vanished,
                self.claims_created,
                self.claims_changed,
                self.claims_gone,
            )
        )


def add_what_was_not_read(plan: MirrorDiff, *, record_sets: int, owned: int, claims: int) -> MirrorDiff:
    """The difference, with all that was not compared counted as still there. The arguments count what the
    mirror has in all: record sets that are not missing, those of them with an owner, and claims."""
    tally = plan.tally
    record_sets -= tally.known
    claims -= tally.claims_known
    whole = replace(
        tally,
        known=tally.known + record_sets,
        still_there=tally.still_there + record_sets,
        seen=tally.seen + record_sets,
        owned=tally.owned + owned - tally.known_record_sets.total(),
        claims_known=tally.claims_known + claims,
        claims_seen=tally.claims_seen + claims,
    )
    return replace(plan, tally=whole, claim_count=plan.claim_count + claims)
