"""The mirror against a snapshot, in bulk: each known row is streamed past once, by its digest alone."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from providers.registries.claim import PairedEndpoint
from providers.registries.labels import RESOURCE
from providers.wire.endpoint import EndpointKey
from registry_app.mirror.lost_claims import compare_claims, fetch_lost_claims
from registry_app.mirror.plausibility import LostClaims, Thresholds
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import Claim, Owner, RecordSet
from registry_app.reconcile.rows.record_digest import (
    compute_claim_digest,
    compute_claim_identity,
    compute_record_digest,
    describe_beliefs,
)

SAMPLE_SIZE = 20


@dataclass
class Tally:
    """How the mirror and a snapshot differ, counted while they are compared.

    `owned` are known record sets with an owner that are still there; `owner_changed` those of them that
    now have another one, or none, and not by a transfer of ours. `deleted_by_us` are known ones that are
    gone because a loop of ours deleted them. `lost_claims` are those of owners whose claims are gone from a
    registry store while their record sets are still there, and not by a transfer or loop of ours.
    """

    known: int = 0
    still_there: int = 0
    deleted_by_us: int = 0
    seen: int = 0
    owned: int = 0
    owner_changed: int = 0
    value_changed: int = 0
    claims_known: int = 0
    claims_seen: int = 0
    lost_claims: Sequence[LostClaims] = ()
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
    created: list[int]
    changed: list[tuple[int, int]]
    vanished: list[int]
    returned: int
    claim_digests: dict[int, tuple[bytes, bytes]]
    claims_created: list[int]
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


_CHUNK = 5_000


def compare_with_mirror(
    provider_id: int,
    snapshot: Snapshot,
    transferred: Mapping[EndpointKey, int],
    deleted: Collection[EndpointKey] = frozenset(),
    *,
    thresholds: Thresholds,
) -> MirrorDiff:
    """The difference between the mirror and a snapshot. Reads rows, writes nothing.

    `transferred` are the record sets that transfers of ours touched since the mirror was last true: that
    their owners changed is no reason to hold a snapshot; nor is it that what loops of ours `deleted` is gone.
    """
    tally = Tally(seen=len(snapshot.records), claims_seen=len(snapshot.claims))
    records = _match_records(provider_id, snapshot, transferred, deleted, tally)
    claims = _match_claims(provider_id, snapshot, tally)
    tally.lost_claims = fetch_lost_claims(provider_id, snapshot, (transferred, deleted), thresholds)
    return MirrorDiff(
        record_digests=records.digests,
        created=records.created,
        changed=records.changed,
        vanished=records.vanished,
        returned=records.returned,
        claim_digests=claims.digests,
        claims_created=claims.created,
        claims_changed=claims.changed,
        claims_gone=claims.gone,
        claim_count=claims.count,
        tally=tally,
    )


@dataclass
class _RecordMatch:
    digests: list[bytes]
    created: list[int] = field(default_factory=list)
    changed: list[tuple[int, int]] = field(default_factory=list)
    vanished: list[int] = field(default_factory=list)
    returned: int = 0


def _match_records(
    provider_id: int,
    snapshot: Snapshot,
    transferred: Mapping[EndpointKey, int],
    deleted: Collection[EndpointKey],
    tally: Tally,
) -> _RecordMatch:
    records = snapshot.records
    match = _RecordMatch([_digest_of(snapshot, record) for record in records])
    unmatched = {record.key: index for index, record in enumerate(records)}
    owner_ids = _fetch_owner_ids()
    for pk, name, record_type, set_identifier, digest, owner, missing_since in _known_record_sets(
        provider_id
    ):
        key = EndpointKey(name, record_type, set_identifier)
        index = unmatched.pop(key, None)
        is_present = missing_since is None
        tally.known += is_present
        if index is None:
            tally.deleted_by_us += is_present and key in deleted
            if is_present:
                _note_absence(match, tally, snapshot, pk, name, record_type)
            continue
        is_same = bytes(digest) == match.digests[index]
        if is_present:
            tally.still_there += 1
            tally.owned += owner is not None
            if not is_same:
                _note_change(tally, records[index], owner_ids.get(owner, ""), transferred)
        else:
            match.returned += 1
        if not is_same or not is_present:
            match.changed.append((pk, index))
    match.created = list(unmatched.values())
    for index in match.created[:SAMPLE_SIZE]:
        tally.sample("appeared", f"{records[index].key.name} {records[index].key.record_type}")
    return match


def _digest_of(snapshot: Snapshot, record: PairedEndpoint) -> bytes:
    beliefs = describe_beliefs(snapshot, record) if record.beliefs else ()
    return compute_record_digest(record, resource_of(snapshot, record), beliefs)


def _note_absence(
    match: _RecordMatch, tally: Tally, snapshot: Snapshot, pk: int, name: str, record_type: str
) -> None:
    if name in snapshot.set_aside_names:
        tally.still_there += 1  # it may be what was set aside: not known, so not gone
        return
    match.vanished.append(pk)
    tally.sample("vanished", f"{name} {record_type}")


def _note_change(
    tally: Tally, record: PairedEndpoint, owner_id: str, transferred: Mapping[EndpointKey, int]
) -> None:
    tally.value_changed += 1
    if not owner_id or record.owner_id == owner_id or record.key in transferred:
        return
    tally.owner_changed += 1
    now = record.owner_id or record.state.value
    tally.sample("owner_changed", f"{record.key.name} {record.key.record_type}: {owner_id} → {now}")


def compare_snapshots(baseline: Snapshot, snapshot: Snapshot, thresholds: Thresholds) -> Tally:
    """How a snapshot differs from one that a person accepted. Pure."""
    tally = Tally(
        known=len(baseline.records),
        seen=len(snapshot.records),
        claims_known=len(baseline.claims),
        claims_seen=len(snapshot.claims),
    )
    by_key = {record.key: record for record in snapshot.records}
    for known in baseline.records:
        record = by_key.get(known.key)
        if record is None:
            tally.sample("vanished", f"{known.key.name} {known.key.record_type}")
            continue
        tally.still_there += 1
        tally.owned += bool(known.owner_id)
        if record != known:
            _note_change(tally, record, known.owner_id, {})
    tally.lost_claims = compare_claims(baseline, snapshot, thresholds)
    return tally


def resource_of(snapshot: Snapshot, record: PairedEndpoint) -> str:
    """The Kubernetes resource that the effective claim names; without one, what the provider's labels do."""
    if record.effective_claim is not None:
        return snapshot.claims[record.effective_claim].resource
    return record.endpoint.labels.get(RESOURCE, "") if record.owner_id else ""


@dataclass
class _ClaimMatch:
    count: int
    digests: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    created: list[int] = field(default_factory=list)
    changed: list[tuple[int, int]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)


def _match_claims(provider_id: int, snapshot: Snapshot, tally: Tally) -> _ClaimMatch:
    unmatched: dict[bytes, int] = {}
    for place, claim in enumerate(snapshot.claims):
        # The same statement twice, from duplicate endpoints, is one claim.
        unmatched.setdefault(compute_claim_identity(claim), place)
    match = _ClaimMatch(len(unmatched))
    for pk, identity, digest in _known_claims(provider_id):
        tally.claims_known += 1
        index = unmatched.pop(bytes(identity), None)
        if index is None:
            match.gone.append(pk)
            continue
        now = compute_claim_digest(snapshot.claims[index])
        if now != bytes(digest):
            match.changed.append((pk, index))
            match.digests[index] = (bytes(identity), now)
    for identity, place in unmatched.items():
        match.digests[place] = (identity, compute_claim_digest(snapshot.claims[place]))
    match.created = list(unmatched.values())
    return match


def _known_record_sets(
    provider_id: int,
) -> Iterator[tuple[int, str, str, str, bytes, int | None, datetime | None]]:
    fields = ("pk", "name", "record_type", "set_identifier", "digest", "owner_id", "missing_since")
    rows = RecordSet.objects.filter(provider_id=provider_id).order_by().values_list(*fields)
    yield from rows.iterator(chunk_size=_CHUNK)


def _known_claims(provider_id: int) -> Iterator[tuple[int, bytes | memoryview, bytes | memoryview]]:
    rows = Claim.objects.filter(provider_id=provider_id).order_by()
    yield from rows.values_list("pk", "identity", "digest").iterator(chunk_size=_CHUNK)


def _fetch_owner_ids() -> dict[int | None, str]:
    return dict(Owner.objects.values_list("pk", "owner_id"))
