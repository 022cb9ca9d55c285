"""The mirror against a snapshot, in bulk: each known row is streamed past once, by its digest alone."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from providers.registries.claim import PairedEndpoint
from providers.registries.labels import RESOURCE
from providers.wire.endpoint import EndpointKey
from registry_app.mirror.lost_claims import compare_claims, fetch_lost_claims
from registry_app.mirror.plausibility import Thresholds
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import Claim, Owner, RecordSet
from registry_app.reconcile.rows.mirror_diff import SAMPLE_SIZE, MirrorDiff, Tally
from registry_app.reconcile.rows.record_digest import (
    compute_claim_digest,
    compute_claim_identity,
    compute_record_digest,
    describe_beliefs,
)

_CHUNK = 5_000


def compare_with_mirror(
    provider_id: int,
    snapshot: Snapshot,
    transferred: Mapping[EndpointKey, int],
    deleted: Collection[EndpointKey] = frozenset(),
    *,
    thresholds: Thresholds,
    names: Collection[str] | None = None,
) -> MirrorDiff:
    """The difference between the mirror and a snapshot. Reads rows, writes nothing. With `names`, the
    snapshot has what is at these names, and only that is compared.

    `transferred` are the record sets that transfers of ours touched since the mirror was last true: that
    their owners changed is no reason to hold a snapshot; nor is it that what loops of ours `deleted` is gone.
    """
    tally = Tally(seen=len(snapshot.records), claims_seen=len(snapshot.claims))
    owner_ids = _fetch_owner_ids()
    known_record_sets = _fetch_known_record_sets(provider_id, names)
    records = _match_records(known_record_sets, owner_ids, snapshot, transferred, deleted, tally)
    claims = _match_claims(_fetch_known_claims(provider_id, names), owner_ids, snapshot, tally)
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


_KnownRecordSet = tuple[int, str, str, str, bytes, int | None, datetime | None]
_KnownClaim = tuple[int, bytes | memoryview, bytes | memoryview, int | None]


def _match_records(
    known: Iterator[_KnownRecordSet],
    owner_ids: Mapping[int | None, str],
    snapshot: Snapshot,
    transferred: Mapping[EndpointKey, int],
    deleted: Collection[EndpointKey],
    tally: Tally,
) -> _RecordMatch:
    records = snapshot.records
    match = _RecordMatch([_digest_of(snapshot, record) for record in records])
    unmatched = {record.key: index for index, record in enumerate(records)}
    for pk, name, record_type, set_identifier, digest, owner, missing_since in known:
        key = EndpointKey(name, record_type, set_identifier)
        index = unmatched.pop(key, None)
        is_present = missing_since is None
        tally.known += is_present
        if is_present and owner is not None:
            tally.known_record_sets[owner_ids.get(owner, "")] += 1
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
        # It may be what was set aside: not known, so not gone.
        tally.still_there += 1
        tally.kept += 1
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


def _match_claims(
    known: Iterator[_KnownClaim], owner_ids: Mapping[int | None, str], snapshot: Snapshot, tally: Tally
) -> _ClaimMatch:
    unmatched: dict[bytes, int] = {}
    for place, claim in enumerate(snapshot.claims):
        # The same statement twice, from duplicate endpoints, is one claim.
        unmatched.setdefault(compute_claim_identity(claim), place)
    match = _ClaimMatch(len(unmatched))
    for pk, identity, digest, owner in known:
        tally.claims_known += 1
        if owner is not None:
            tally.known_claims[owner_ids.get(owner, "")] += 1
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


def _fetch_known_record_sets(provider_id: int, names: Collection[str] | None) -> Iterator[_KnownRecordSet]:
    rows = RecordSet.objects.filter(provider_id=provider_id).order_by()
    if names is not None:
        rows = rows.filter(name__among=names)
    fields = ("pk", "name", "record_type", "set_identifier", "digest", "owner_id", "missing_since")
    return rows.values_list(*fields).iterator(chunk_size=_CHUNK)


def _fetch_known_claims(provider_id: int, names: Collection[str] | None) -> Iterator[_KnownClaim]:
    rows = Claim.objects.filter(provider_id=provider_id).order_by()
    if names is not None:
        # All names that a claim may mean are read with it, so that its TXT record and its record set are.
        rows = rows.filter(record_name__among=names)
    return rows.values_list("pk", "identity", "digest", "owner_id").iterator(chunk_size=_CHUNK)


def _fetch_owner_ids() -> dict[int | None, str]:
    return dict(Owner.objects.values_list("pk", "owner_id"))
