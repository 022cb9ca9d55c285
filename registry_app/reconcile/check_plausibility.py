"""Whether a snapshot is plausible beside the mirror, or beside one that a person accepted."""

import hashlib
import zlib

import msgspec

from providers.registries.stored_claim import decode_contents
from providers.wire.errors import WireError
from registry_app.mirror.baseline import thresholds_of
from registry_app.mirror.domain_filter import NegotiatedFilter, read_known_filter
from registry_app.mirror.plausibility import Comparison, Reason, Thresholds, find_reasons
from registry_app.mirror.snapshot import Snapshot, decode_snapshot
from registry_app.models import HeldSnapshot, Owner, Provider
from registry_app.queries.provider import last_stored_set_aside
from registry_app.queries.transfer_items import count_claims_removed_since
from registry_app.reconcile.rows.comparison import compare_snapshots
from registry_app.reconcile.rows.mirror_diff import Tally
from registry_app.reconcile.sync_context import SyncContext, SyncResult


def find_reasons_to_hold(context: SyncContext, result: SyncResult) -> list[Reason]:
    """Why the snapshot is held; empty: store it. Where a person accepted a held snapshot, that one is the
    baseline, not the mirror."""
    snapshot, tally = result.snapshot, result.plan.tally
    accepted = accepted_baseline(context)
    if accepted is not None and accepted.body_digest == snapshot.body_digest and not result.is_filter_changed:
        return []
    baseline = _decode_held(context, accepted) if accepted is not None else None
    thresholds = thresholds_of(context.provider)
    if baseline is not None:
        tally = compare_snapshots(baseline, snapshot, thresholds)
        set_aside_before = len(baseline.set_aside)
    else:
        set_aside_before = last_stored_set_aside(context.provider.pk) if snapshot.set_aside else 0
    found = Comparison(
        item_count=snapshot.item_count,
        known=tally.known - tally.deleted_by_us,
        still_there=tally.still_there,
        claims_known=tally.claims_known - _count_removed_by_us(context, tally),
        claims_seen=tally.claims_seen,
        lost_claims=tally.lost_claims,
        owned=tally.owned,
        owner_changed=tally.owner_changed,
        new_owners=_count_new_owners(snapshot, thresholds),
        set_aside=len(snapshot.set_aside),
        set_aside_before=set_aside_before,
        is_filter_changed=result.is_filter_changed,
        allow_empty=context.provider.allow_empty,
    )
    return find_reasons(found, thresholds)


def _count_new_owners(snapshot: Snapshot, thresholds: Thresholds) -> int:
    named = {claim.owner_id for claim in snapshot.claims if claim.owner_id}
    if len(named) <= thresholds.new_owners:
        return 0  # read only where it can matter
    return len(named.difference(Owner.objects.order_by().values_list("owner_id", flat=True).iterator()))


def _count_removed_by_us(context: SyncContext, tally: Tally) -> int:
    # Read only where it can matter: a transfer may have a hundred thousand items.
    if tally.claims_seen:
        return 0
    by_loops = context.deleted.claims
    if not context.transfers:
        return by_loops
    return by_loops + count_claims_removed_since(context.provider.pk, context.provider.accepted_at)


def accepted_baseline(context: SyncContext) -> HeldSnapshot | None:
    """The held snapshot that a person accepted and that waits to be stored."""
    held = context.held
    return held if held is not None and held.status == HeldSnapshot.Status.ACCEPTED else None


def known_filter_of(provider: Provider, held: HeldSnapshot | None) -> NegotiatedFilter | None:
    """The filter the provider is expected to negotiate: the accepted one, else the mirror's."""
    if held is not None and held.status == HeldSnapshot.Status.ACCEPTED:
        accepted = held.difference.get("domain_filter")
        if accepted:
            return read_known_filter(accepted["now"])
    return read_known_filter(provider.domain_filter)


def compute_snapshot_fingerprint(
    body_digest: str, reading_digest: bytes, domain_filter: NegotiatedFilter | None
) -> str:
    """A digest of everything that a snapshot was held for: the same one is held again without decoding it."""
    patterns = msgspec.structs.replace(domain_filter, negotiated_at="") if domain_filter else None
    text = msgspec.msgpack.encode((body_digest, reading_digest, patterns))
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def is_still_held(held: HeldSnapshot, fingerprint: str) -> bool:
    """Whether what is seen is what waits for a person already, or what a person rejected."""
    is_undecided = held.status in {HeldSnapshot.Status.OPEN, HeldSnapshot.Status.REJECTED}
    return is_undecided and bool(held.difference.get("fingerprint") == fingerprint)


def _decode_held(context: SyncContext, held: HeldSnapshot) -> Snapshot | None:
    """None where today's limits, or this release, do not read it: then the mirror is the measure again, and
    a person is asked again."""
    body, contents = HeldSnapshot.objects.values_list("body", "contents").get(pk=held.pk)
    try:
        return decode_snapshot(
            zlib.decompress(body),
            context.reading.profiles,
            context.reading.registries,
            decode_contents(zlib.decompress(contents)) if contents else (),
            max_items=context.provider.max_items,
        )
    except (WireError, msgspec.DecodeError):
        return None
