"""One sync, gathered step by step: what was known before, and what was fetched."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from providers.wire.endpoint import EndpointKey
from registry_app.mirror.changed_part import ChangedPart
from registry_app.mirror.domain_filter import NegotiatedFilter
from registry_app.mirror.reading import Reading
from registry_app.mirror.snapshot import Snapshot
from registry_app.mirror.snapshot_facts import SnapshotFacts
from registry_app.models import HeldSnapshot, Provider, SnapshotIndex, SyncRun
from registry_app.queries.own_deletes import NOTHING_DELETED, Deleted, deleted_since
from registry_app.queries.record_event import RecentChanges
from registry_app.queries.transfer_items import touched_since
from registry_app.queries.written_since import NOTHING_WRITTEN, Written, written_since
from registry_app.reconcile.lease import Lease
from registry_app.reconcile.rows.mirror_diff import MirrorDiff


@dataclass(frozen=True)
class SyncContext:
    """The lease, the run and what was known before. `held` is the provider's last held snapshot,
    unless all was well at the last sync. `transfers` maps each record set that a transfer of ours touched
    since the mirror was last true to that transfer; `deleted` is what loops of ours and the guard
    deleted since then, and `written` what they wrote."""

    lease: Lease
    provider: Provider
    run: SyncRun
    reading: Reading
    held: HeldSnapshot | None
    transfers: Mapping[EndpointKey, int]
    deleted: Deleted = NOTHING_DELETED
    written: Written = NOTHING_WRITTEN


def fetch_own_writes(context: SyncContext) -> SyncContext:
    """The same with what transfers, loops and the guard wrote since the mirror was last true."""
    provider_id, since = context.provider.pk, context.provider.accepted_at
    return replace(
        context,
        transfers=touched_since(provider_id, since),
        deleted=deleted_since(provider_id, since),
        written=written_since(provider_id, since),
    )


@dataclass(frozen=True)
class PartRead:
    """Of a response, only what changed was read. `index` is that of the accepted snapshot, whose chunks are
    `chunk_keys` by number; `recent` is what else decided which names were read."""

    index: SnapshotIndex
    chunk_keys: Mapping[int, int]
    part: ChangedPart
    recent: RecentChanges


@dataclass(frozen=True)
class SyncResult:
    """What was seen: the snapshot, how the mirror differs from it, and the filter as negotiated last. With
    `part_read`, the snapshot and the difference have only what is at the names that were read; `facts` are
    always those of the whole."""

    snapshot: Snapshot
    plan: MirrorDiff
    domain_filter: NegotiatedFilter | None
    known_filter: NegotiatedFilter | None
    facts: SnapshotFacts
    part_read: PartRead | None = None

    @property
    def is_filter_changed(self) -> bool:
        """Whether the provider negotiated another filter than the one the mirror was made under."""
        known, now = self.known_filter, self.domain_filter
        return known is not None and now is not None and not known.says_the_same(now)

    @property
    def names(self) -> frozenset[str] | None:
        """The names that were read; None for all."""
        return self.part_read.part.names if self.part_read is not None else None
