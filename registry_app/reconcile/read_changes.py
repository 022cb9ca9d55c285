"""A response compared with the accepted one by its elements, so that only what changed is read."""

from dataclasses import dataclass, replace
from datetime import datetime

from providers.client.provider_client import RecordsAnswer
from providers.wire.elements import ElementHasher, cut_elements
from registry_app.clock import fetch_now
from registry_app.mirror.baseline import thresholds_of
from registry_app.mirror.changed_part import (
    ChangedPart,
    WholeReadingNeeded,
    may_be_read_in_parts,
    read_changed_part,
)
from registry_app.mirror.domain_filter import NegotiatedFilter
from registry_app.mirror.element_diff import ElementDiff, compare_elements, is_reordered, may_be_reordered
from registry_app.mirror.reading import build_element_seed
from registry_app.mirror.snapshot_facts import SnapshotFacts, add_facts_not_read, gather_facts
from registry_app.models import HeldSnapshot, SnapshotIndex, SyncRun
from registry_app.queries.record_event import RecentChanges, fetch_recent_changes
from registry_app.reconcile.findings.find_all import MOST_OF_A_KIND, count_by_kind
from registry_app.reconcile.findings.scene import FLAPPING_CHANGES, FLAPPING_WINDOW, fetch_scene
from registry_app.reconcile.rows.comparison import compare_with_mirror
from registry_app.reconcile.rows.mirror_diff import MirrorDiff, add_what_was_not_read
from registry_app.reconcile.snapshot_index import (
    StoredChunks,
    fetch_accepted_index,
    fetch_chunks,
    may_be_kept_up,
    read_facts,
)
from registry_app.reconcile.store_findings import count_open_by_kind
from registry_app.reconcile.sync_context import PartRead, SyncContext, SyncResult

_Why = SyncRun.WholeReading
# A snapshot was stored after these were held.
_SETTLED = (HeldSnapshot.Status.STORED, HeldSnapshot.Status.CLEARED)


@dataclass(frozen=True)
class Changes:
    """The elements of a response, compared with those of the accepted snapshot. `diff` is None where they are
    the same in another order, which is read the same."""

    answer: RecordsAnswer
    response_digest: str
    index: SnapshotIndex
    chunks: StoredChunks
    diff: ElementDiff | None

    @property
    def is_only_reordered(self) -> bool:
        """Whether it has the same elements in another order, which is read the same."""
        return self.diff is None or (self.diff.is_same and not self.index.names_in_order)


def find_changes(context: SyncContext, answer: RecordsAnswer, response_digest: str) -> Changes:
    """The elements that changed. Raises WholeReadingNeeded where there is nothing to compare with: no index
    of the accepted snapshot, or one that was read otherwise. Database read."""
    provider = context.provider
    index = _fetch_index(context, answer)
    elements = cut_elements(answer.body, max_items=provider.max_items)
    if elements is None:
        raise WholeReadingNeeded(_Why.FORMAT)
    chunks = fetch_chunks(index)
    hasher = ElementHasher(build_element_seed(provider))
    hashes = None
    if not index.names_in_order and chunks.heads and may_be_reordered(elements, chunks.heads, hasher):
        hashes = hasher.hash_each(elements)
        if is_reordered(elements, chunks.heads, hashes):
            return Changes(answer, response_digest, index, chunks, None)
    diff = compare_elements(elements, chunks.heads, chunks, hasher, hashes)
    return Changes(answer, response_digest, index, chunks, diff)


def _fetch_index(context: SyncContext, answer: RecordsAnswer) -> SnapshotIndex:
    provider, reading = context.provider, context.reading
    if not provider.accepted_snapshots:
        raise WholeReadingNeeded(_Why.FIRST)
    if not may_be_read_in_parts(reading):
        raise WholeReadingNeeded(_Why.REGISTRIES)
    index = fetch_accepted_index(provider)
    if index is None:
        raise WholeReadingNeeded(_Why.NO_INDEX)
    if bytes(index.reading_digest) != reading.digest:
        raise WholeReadingNeeded(_Why.SETTINGS)
    if index.content_type != answer.content_type:
        raise WholeReadingNeeded(_Why.FORMAT)
    return index


def read_changes(
    context: SyncContext,
    changes: Changes,
    domain_filter: NegotiatedFilter | None,
    known_filter: NegotiatedFilter | None,
) -> SyncResult:
    """The result of a sync that reads what changed alone: the mirror and the findings become what they would
    by a whole reading. Raises WholeReadingNeeded where only that one can tell. Database read."""
    provider, index = context.provider, changes.index
    if context.held is not None and context.held.status not in _SETTLED:
        raise WholeReadingNeeded(_Why.HELD_BEFORE)
    if changes.diff is None:
        raise ValueError("no element changed")
    now = fetch_now()
    recent = fetch_recent_changes(provider.pk, now - FLAPPING_WINDOW, at_least=FLAPPING_CHANGES - 1)
    part = _read_part(context, changes, changes.diff, recent)
    plan = compare_with_mirror(
        provider.pk,
        part.snapshot,
        context.transfers,
        context.deleted.keys,
        thresholds=thresholds_of(provider),
        names=part.names,
    )
    before = read_facts(index)
    facts = _add_up_facts(before, plan, part)
    plan = add_what_was_not_read(
        plan,
        record_sets=provider.record_set_count,
        owned=before.record_sets_by_owner.total(),
        claims=provider.claim_count,
    )
    part_read = PartRead(index, changes.chunks.list_keys(), part, recent)
    result = SyncResult(part.snapshot, plan, domain_filter, known_filter, facts, part_read)
    if not may_be_kept_up(result):
        raise WholeReadingNeeded(_Why.NOT_COUNTED)
    if _may_be_too_many_findings(context, result, now):
        raise WholeReadingNeeded(_Why.MANY_FINDINGS)
    return result


def _read_part(
    context: SyncContext, changes: Changes, diff: ElementDiff, recent: RecentChanges
) -> ChangedPart:
    return read_changed_part(
        changes.answer,
        diff,
        context.reading,
        _list_names_beside(context, changes.index, recent),
        set_aside=changes.index.set_aside,
        max_items=context.provider.max_items,
        response_digest=changes.response_digest,
    )


def _add_up_facts(before: SnapshotFacts, plan: MirrorDiff, part: ChangedPart) -> SnapshotFacts:
    """The facts of the whole snapshot, of which a part was read and compared with the mirror."""
    found = gather_facts(part.snapshot)
    known = plan.tally.known_claims, plan.tally.known_record_sets
    facts = add_facts_not_read(before, known, found, part.names)
    return replace(facts, has_owner_labels=found.has_owner_labels)


def _list_names_beside(context: SyncContext, index: SnapshotIndex, recent: RecentChanges) -> set[str]:
    """The names to read whether or not something changed there: where findings look at more than the
    response, and where the order of elements counts."""
    keys = {*context.transfers, *context.deleted.keys, *recent.changing, *recent.histories}
    return {key.name for key in keys}.union(index.names_in_order)


def _may_be_too_many_findings(context: SyncContext, result: SyncResult, now: datetime) -> bool:
    """Whether a kind of findings may be beyond its bound: the first ones by name are listed then, and a part
    does not tell which they are. Database read."""
    provider_id = context.provider.pk
    stored = count_open_by_kind(provider_id)
    if max(stored.values(), default=0) >= MOST_OF_A_KIND:
        return True
    # No kind has more than one for each claim and record set.
    at_most = len(result.snapshot.records) + len(result.snapshot.claims)
    if max(stored.values(), default=0) + at_most <= MOST_OF_A_KIND:
        return False
    found = count_by_kind(fetch_scene(context, result, now))
    near = [kind for kind, count in found.items() if stored[kind] + count > MOST_OF_A_KIND]
    if not near:
        return False
    read = count_open_by_kind(provider_id, result.names)
    return any(stored[kind] - read[kind] + found[kind] > MOST_OF_A_KIND for kind in near)
