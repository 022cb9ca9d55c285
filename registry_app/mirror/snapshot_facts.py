"""What is kept of a whole snapshot so that later ones can be read in parts. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from providers.registries.claim import Claim
from providers.wire.canonical_name import canonical_name
from registry_app.mirror.snapshot import Snapshot


@dataclass(frozen=True)
class SnapshotFacts:
    """`claims_by_owner` counts the claims, labels of the provider included, that name each owner id,
    `record_sets_by_owner` the record sets each owner has. `names_in_order` are the canonical names where
    another order of the elements would be read otherwise. `has_owner_labels`: the owner of a record set is
    known from the provider's label alone."""

    claims_by_owner: Counter[str]
    record_sets_by_owner: Counter[str]
    names_in_order: frozenset[str]
    has_owner_labels: bool = False


def gather_facts(snapshot: Snapshot) -> SnapshotFacts:
    """Those of a snapshot, or of a part of one."""
    claims = Counter(claim.owner_id for claim in snapshot.claims if claim.owner_id)
    labels = Counter(r.owner_id for r in snapshot.records if r.effective_claim is None and r.owner_id)
    record_sets = Counter(record.owner_id for record in snapshot.records if record.owner_id)
    return SnapshotFacts(
        claims + labels, record_sets, frozenset(_list_names_in_order(snapshot)), bool(labels)
    )


def add_facts_not_read(
    before: SnapshotFacts,
    known: tuple[Mapping[str, int], Mapping[str, int]],
    part: SnapshotFacts,
    names: Collection[str],
) -> SnapshotFacts:
    """The facts of a snapshot of which the part at `names` was read. `before` are those of the accepted one,
    of which the mirror has `known` at these names: claims and record sets by owner. Without owner labels."""
    claims, record_sets = Counter(before.claims_by_owner), Counter(before.record_sets_by_owner)
    claims.subtract(known[0])
    claims.update(part.claims_by_owner)
    record_sets.subtract(known[1])
    record_sets.update(part.record_sets_by_owner)
    in_order = part.names_in_order | before.names_in_order.difference(names)
    return SnapshotFacts(+claims, +record_sets, in_order)


def _list_names_in_order(snapshot: Snapshot) -> set[str]:
    """Those with several endpoints for one identity, and with several TXT names for one record set."""
    found = {record.key.name for record in snapshot.records if record.parts}
    claims: dict[tuple[str, str, str], Claim] = {}
    for claim in snapshot.claims:
        if not claim.is_in_zone:
            continue
        other = claims.setdefault((claim.record_name, claim.record_type, claim.set_identifier), claim)
        if claim.parts or other.endpoint.dns_name != claim.endpoint.dns_name:
            found |= {canonical_name(each.endpoint.dns_name) for each in (claim, other)}
    return found
