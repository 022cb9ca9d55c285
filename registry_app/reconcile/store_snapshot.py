"""A plausible snapshot becomes the mirror: rows, history and findings, fenced by the epoch."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import chain
from time import monotonic

from django.db import transaction
from django.db.models import F

from registry_app.actor import SYSTEM
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.mirror.domain_filter import NegotiatedFilter
from registry_app.mirror.reading import compute_accepted_digest
from registry_app.mirror.snapshot import Snapshot
from registry_app.models import Provider, SyncRun
from registry_app.reconcile.discover_owners import discover_owners
from registry_app.reconcile.failure import resolve_failing
from registry_app.reconcile.findings.find_all import find_all
from registry_app.reconcile.findings.scene import fetch_scene
from registry_app.reconcile.held_snapshot import settle_waiting
from registry_app.reconcile.lease import store_under_lease
from registry_app.reconcile.rows.bulk import rows_per_transaction
from registry_app.reconcile.rows.claim_rows import ClaimRowMaker
from registry_app.reconcile.rows.mirror_diff import MirrorDiff
from registry_app.reconcile.rows.mirror_writes import (
    Write,
    iterate_claim_writes,
    iterate_record_writes,
    store_in_slices,
)
from registry_app.reconcile.rows.missing_records import count_absence, has_missing, has_overdue, purge_missing
from registry_app.reconcile.rows.record_rows import RowMaker, Writers
from registry_app.reconcile.snapshot_index import accept_index, iterate_index_writes
from registry_app.reconcile.store_findings import iterate_finding_writes
from registry_app.reconcile.sync_context import SyncContext, SyncResult
from registry_app.reconcile.sync_run import NO_SYNC, build_next_sync, close_run, store_run


def store_snapshot(context: SyncContext, result: SyncResult) -> SyncRun:
    """Make the mirror match. One transaction for a small difference, several for a large one; what says
    that the mirror is true comes with the last. Raises LeaseLost."""
    started, now = monotonic(), fetch_now()
    if not result.plan.is_empty:
        store_run(context.lease, context.run)
    store_writes(context, _iterate_writes(context, result, now), lambda: result, now, started)
    return context.run


def store_writes(
    context: SyncContext,
    writes: Iterable[Write],
    build_result: Callable[[], SyncResult],
    now: datetime,
    started: float,
) -> None:
    """Run the writes that make the mirror match, and accept the snapshot, whose result is asked for then.
    Raises LeaseLost."""
    crash_point("sync.before_store")
    store_in_slices(
        context.lease,
        writes,
        lambda: _accept(context, build_result(), now, started),
        rows_per_transaction=rows_per_transaction(),
    )
    crash_point("sync.after_store")
    _purge(context, now)


def note_unchanged(context: SyncContext, domain_filter: NegotiatedFilter | None, now: datetime) -> SyncRun:
    """The answer is the one the mirror was made of: an accepted snapshot like any other, and cheap."""
    with transaction.atomic():
        # First: it is the fence of this transaction too.
        _store_provider(context, now, domain_filter=domain_filter.to_json() if domain_filter else {})
        is_any_missing = has_missing(context.provider.pk)
        if is_any_missing:
            count_absence(context.provider.pk)
        _store_run_of_purge(context, now, is_any_missing=is_any_missing)
        settle_waiting(context, now)
        provider = context.provider
        close_run(
            context.run,
            SyncRun.Status.UNCHANGED,
            now,
            seen=provider.record_set_count,
            claims=provider.claim_count,
        )
    if is_any_missing:
        _purge(context, now)
    return context.run


def _iterate_writes(context: SyncContext, result: SyncResult, now: datetime) -> Iterator[Write]:
    provider, writer = context.provider, RowWriter(context, now)
    rows = writer.iterate_writes(result.snapshot, result.plan)
    scene = fetch_scene(context, result, now)
    return chain(
        (Write(0, partial(_void_accepted_digest, provider.pk)),),
        rows,
        iterate_finding_writes(provider.pk, find_all(scene), writer.owner_keys, now, result.names),
        iterate_index_writes(context, result),
    )


class RowWriter:
    """Makes the writes of record sets and claims: of a snapshot, or of one slice after the other. All are of
    one moment. `owner_keys` are the primary keys of all owners that were seen."""

    def __init__(self, context: SyncContext, now: datetime) -> None:
        self.owner_keys: Mapping[str, int] = {}
        self._context = context
        self._now = now

    def iterate_writes(self, snapshot: Snapshot, plan: MirrorDiff) -> Iterator[Write]:
        """Owners that nobody knows are stored right away, the rest by the writes."""
        context, provider = self._context, self._context.provider
        owner_ids = {claim.owner_id for claim in snapshot.claims if claim.owner_id}
        owner_ids.update(record.owner_id for record in snapshot.records if record.owner_id)
        if not self.owner_keys or not owner_ids <= self.owner_keys.keys():
            self.owner_keys = discover_owners(context.lease, provider, owner_ids)
        by = Writers(context.transfers, context.written)
        run_id = context.run.pk
        records = RowMaker(provider.pk, snapshot, plan, self.owner_keys, by, run_id, self._now)
        claims = ClaimRowMaker(provider.pk, snapshot, plan, self.owner_keys, self._now)
        is_baseline = provider.accepted_snapshots == 0
        return chain(iterate_record_writes(records, is_baseline=is_baseline), iterate_claim_writes(claims))


def _void_accepted_digest(provider_id: int) -> None:
    # From the first slice on the mirror differs from that response: if the provider returns it again after a
    # crash between two slices, it must not count as unchanged.
    Provider.objects.filter(pk=provider_id).update(accepted_digest="")


def _accept(context: SyncContext, result: SyncResult, now: datetime, started: float) -> None:
    snapshot, plan = result.snapshot, result.plan
    count_absence(context.provider.pk)
    _store_run_of_purge(context, now)
    settle_waiting(context, now)
    known = plan.tally.known - len(plan.vanished) + plan.returned + len(plan.created)
    domain_filter = result.domain_filter or result.known_filter
    accepted_digest = compute_accepted_digest(snapshot.body_digest, snapshot.content_type, context.reading)
    _store_provider(
        context,
        now,
        domain_filter=domain_filter.to_json() if domain_filter else {},
        accepted_digest=accepted_digest,
        record_set_count=known,
        claim_count=plan.claim_count,
    )
    accept_index(context, result, accepted_digest)
    counts: dict[str, int | str | None] = {
        "seen": plan.tally.seen,
        "created": len(plan.created),
        "changed": plan.tally.value_changed,
        "vanished": len(plan.vanished),
        "returned": plan.returned,
        "set_aside": len(snapshot.set_aside),
        "claims": plan.claim_count,
    }
    status = SyncRun.Status.UNCHANGED if plan.is_empty else SyncRun.Status.STORED
    elapsed = int((monotonic() - started) * 1000)
    items_read = result.part_read.part.items_read if result.part_read is not None else None
    close_run(context.run, status, now, store_milliseconds=elapsed, items_read=items_read, **counts)
    if not plan.is_empty:
        record_audit(
            SYSTEM, "snapshot.stored", context.provider, after={"sync_run": context.run.pk, **counts}
        )


def _store_provider(context: SyncContext, now: datetime, **values: object) -> None:
    provider = context.provider
    store_under_lease(
        context.lease,
        status=Provider.Status.OK,
        accepted_at=now,
        accepted_snapshots=F("accepted_snapshots") + 1,
        consecutive_failures=0,
        last_error_code="",
        last_error="",
        last_sync_at=now,
        next_sync_at=build_next_sync(provider, now),
        **NO_SYNC,
        **values,
    )
    resolve_failing(provider, now)


def _store_run_of_purge(context: SyncContext, now: datetime, *, is_any_missing: bool = True) -> None:
    # What is purged is history, and history names its sync: such a sync is not counted with others.
    if not context.run.has_row and is_any_missing and has_overdue(context.provider.pk, now):
        store_run(context.lease, context.run)


def _purge(context: SyncContext, now: datetime) -> None:
    if not context.run.has_row:
        return  # nothing is overdue
    purged = purge_missing(context.lease, context.run.pk, now)
    if purged:
        SyncRun.objects.filter(pk=context.run.pk).update(purged=purged)
        context.run.purged = purged
