"""The first sync of a provider, slice by slice: read at once, a response takes many times its size."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import monotonic

from providers.client.provider_client import RecordsAnswer
from providers.wire.elements import ElementHasher
from providers.wire.json_codec import DecodedRecords
from registry_app.clock import fetch_now
from registry_app.mirror.baseline import thresholds_of
from registry_app.mirror.changed_part import may_be_read_in_parts
from registry_app.mirror.domain_filter import NegotiatedFilter
from registry_app.mirror.element_index import draft_described
from registry_app.mirror.plausibility import Comparison, find_reasons
from registry_app.mirror.reading import build_element_seed
from registry_app.mirror.sliced_response import SlicedResponse, slice_response
from registry_app.mirror.snapshot import Snapshot, build_snapshot
from registry_app.mirror.snapshot_facts import SnapshotFacts, gather_facts
from registry_app.models import Claim, RecordSet, SyncRun
from registry_app.reconcile.findings.find_all import FindingsOfSlices
from registry_app.reconcile.findings.scene import Scene, fetch_scene
from registry_app.reconcile.rows.comparison import compare_with_mirror
from registry_app.reconcile.rows.mirror_diff import MirrorDiff, Tally
from registry_app.reconcile.rows.mirror_writes import Write
from registry_app.reconcile.snapshot_index import iterate_new_index_writes
from registry_app.reconcile.store_findings import iterate_finding_writes
from registry_app.reconcile.store_snapshot import RowWriter, store_writes
from registry_app.reconcile.sync_context import SyncContext, SyncResult
from registry_app.reconcile.sync_run import store_run


def store_first_response(
    context: SyncContext, answer: RecordsAnswer, response_digest: str, domain_filter: NegotiatedFilter | None
) -> SyncRun | None:
    """Make the mirror that of the first response, as a whole reading does. None where only that one can tell:
    what is known already would have to be compared, or the response may have to be held. Raises LeaseLost."""
    provider, reading = context.provider, context.reading
    if context.held is not None or not may_be_read_in_parts(reading) or _is_anything_known(provider.pk):
        return None
    sliced = slice_response(answer.body, reading.profiles, max_items=provider.max_items)
    if sliced is None or not _is_plausible(context, sliced):
        return None
    started, now = monotonic(), fetch_now()
    total = _Total(_build_frame(context, answer, response_digest, sliced), domain_filter)
    scene = fetch_scene(context, total.build_result(), now)
    if scene.changing or scene.histories or scene.verified:
        return None
    store_run(context.lease, context.run)
    store_writes(
        context, _iterate_writes(context, sliced, total, scene, now), total.build_result, now, started
    )
    return context.run


@dataclass
class _Total:
    """What all slices had together. `frame` is the snapshot without record sets and claims."""

    frame: Snapshot
    domain_filter: NegotiatedFilter | None
    facts: SnapshotFacts = field(default_factory=lambda: SnapshotFacts(Counter(), Counter(), frozenset()))
    records: int = 0
    claims: int = 0

    def add(self, snapshot: Snapshot, plan: MirrorDiff) -> None:
        """One more slice."""
        found = gather_facts(snapshot)
        self.facts.claims_by_owner.update(found.claims_by_owner)
        self.facts.record_sets_by_owner.update(found.record_sets_by_owner)
        self.facts = replace(
            self.facts,
            names_in_order=self.facts.names_in_order | found.names_in_order,
            has_owner_labels=self.facts.has_owner_labels or found.has_owner_labels,
        )
        self.records += len(plan.created)
        self.claims += len(plan.claims_created)

    def build_result(self) -> SyncResult:
        """The result with nothing but totals: everything was created."""
        plan = MirrorDiff(
            record_digests=[],
            created=range(self.records),
            changed=[],
            vanished=[],
            returned=0,
            claim_digests={},
            claims_created=range(self.claims),
            claims_changed=[],
            claims_gone=[],
            claim_count=self.claims,
            tally=Tally(seen=self.records, claims_seen=self.claims),
        )
        return SyncResult(self.frame, plan, self.domain_filter, None, self.facts)


def _is_anything_known(provider_id: int) -> bool:
    """Whether an earlier sync that did not end left rows."""
    return any(model.objects.filter(provider_id=provider_id).exists() for model in (RecordSet, Claim))


def _is_plausible(context: SyncContext, sliced: SlicedResponse) -> bool:
    """Whether a whole reading would not hold it; of a few that it would not hold it is not known."""
    found = Comparison(
        item_count=len(sliced.elements),
        new_owners=len(sliced.owner_ids),
        set_aside=len(sliced.set_aside),
    )
    return not find_reasons(found, thresholds_of(context.provider))


def _build_frame(
    context: SyncContext, answer: RecordsAnswer, response_digest: str, sliced: SlicedResponse
) -> Snapshot:
    frame = _build_slice(context, DecodedRecords([], list(sliced.set_aside)))
    return replace(
        frame,
        body_digest=response_digest,
        content_type=answer.content_type,
        fetch_seconds=answer.seconds,
        item_count=len(sliced.elements),
    )


def _build_slice(context: SyncContext, decoded: DecodedRecords) -> Snapshot:
    reading = context.reading
    return build_snapshot(decoded, reading.profiles, reading.registries, (), body=b"", body_digest="")


def _iterate_writes(
    context: SyncContext, sliced: SlicedResponse, total: _Total, scene: Scene, now: datetime
) -> Iterator[Write]:
    """Each slice is read when its rows are to be written, and forgotten afterwards."""
    provider_id, thresholds = context.provider.pk, thresholds_of(context.provider)
    findings, writer = FindingsOfSlices(), RowWriter(context, now)
    for positions in sliced.slices:
        snapshot = _build_slice(context, sliced.decode(positions))
        # The mirror has no rows that these could be compared with.
        plan = compare_with_mirror(provider_id, snapshot, {}, thresholds=thresholds, names=())
        yield from writer.iterate_writes(snapshot, plan)
        findings.add(replace(scene, snapshot=snapshot))
        total.add(snapshot, plan)
    drafts = findings.list_all(replace(scene, facts=total.facts))
    yield from iterate_finding_writes(provider_id, drafts, writer.owner_keys, now)
    hasher = ElementHasher(build_element_seed(context.provider))
    chunks = draft_described(sliced.elements, sliced.described.iterate_chunks(), hasher)
    yield from iterate_new_index_writes(provider_id, chunks)
