"""The index of the accepted snapshot: stored with it, and read to find what changed since."""

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from providers.wire.elements import HASH_BYTES, ElementHasher, cut_elements, sum_hashes
from registry_app.errors import LeaseLost
from registry_app.mirror.changed_part import may_be_linked_by_name, may_be_read_in_parts
from registry_app.mirror.element_index import (
    ChunkDraft,
    ChunkHead,
    compute_name_key,
    describe_elements,
    draft_chunks,
    join_hashes,
    join_names,
    split_hashes,
    split_names,
)
from registry_app.mirror.reading import build_element_seed
from registry_app.mirror.snapshot_facts import SnapshotFacts
from registry_app.models import Provider, SnapshotIndex, SnapshotIndexChunk
from registry_app.reconcile.rows.bulk import Row, insert_rows, update_rows
from registry_app.reconcile.rows.mirror_writes import Write, in_chunks
from registry_app.reconcile.sync_context import SyncContext, SyncResult

_HASH_COLUMNS = ("digest", "hashes", "hash_sum")
_DESCRIBED_COLUMNS = ("name_keys", "kinds", "names")
# A chunk, and its hashes alone, are about as much to write as so many rows of the mirror.
_ROWS_PER_CHUNK = 10
_ROWS_PER_HASHES = 2
_CHUNKS_AT_ONCE = 20
_HASHES_AT_ONCE = 100
# Beyond these, whole responses are read: they are rare, and every sync would carry them along.
_MOST_SET_ASIDE = 1_000
_MOST_NAMES_IN_ORDER = 1_000
_MOST_OWNERS = 10_000


@dataclass(frozen=True)
class StoredChunks:
    """The chunks of an index: their heads in order and, by index among these, what is read when needed."""

    keys: Sequence[int]
    heads: Sequence[ChunkHead]

    def list_keys(self) -> dict[int, int]:
        """The primary key of each chunk by its number."""
        return {head.number: key for head, key in zip(self.heads, self.keys, strict=True)}

    def fetch_hashes(self, indexes: Sequence[int]) -> dict[int, list[bytes]]:
        """Database read."""
        return {index: split_hashes(bytes(value)) for index, value in self._fetch("hashes", indexes)}

    def fetch_names(self, indexes: Sequence[int]) -> dict[int, list[str]]:
        """Database read."""
        return {index: split_names(str(value)) for index, value in self._fetch("names", indexes)}

    def _fetch(self, column: str, indexes: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Raises LeaseLost where a chunk is gone."""
        index_of = {self.keys[index]: index for index in indexes}
        rows = SnapshotIndexChunk.objects.filter(pk__among=index_of.keys()).values_list("pk", column)
        for pk, value in rows.order_by("number").iterator(chunk_size=1_000):
            yield index_of.pop(pk), value
        if index_of:
            raise LeaseLost("Another run stored another snapshot of this provider meanwhile.")


def fetch_accepted_index(provider: Provider) -> SnapshotIndex | None:
    """The index of the accepted snapshot, if there is one. Database read."""
    if not provider.accepted_digest:
        return None
    return SnapshotIndex.objects.filter(pk=provider.pk, accepted_digest=provider.accepted_digest).first()


def fetch_chunks(index: SnapshotIndex) -> StoredChunks:
    """The chunks of an index, without hashes and names. Database read."""
    rows = SnapshotIndexChunk.objects.filter(provider_id=index.pk, generation=index.generation)
    keys: list[int] = []
    heads: list[ChunkHead] = []
    for pk, number, digest, hash_sum, name_keys, kinds in rows.order_by("number").values_list(
        "pk", "number", "digest", "hash_sum", "name_keys", "kinds"
    ):
        keys.append(pk)
        unpacked = struct.unpack(f"<{len(name_keys) // 4}I", name_keys)
        total = int.from_bytes(hash_sum, "big")
        heads.append(ChunkHead(number, bytes(digest), total, unpacked, bytes(kinds)))
    return StoredChunks(keys, heads)


def iterate_index_writes(context: SyncContext, result: SyncResult) -> Iterator[Write]:
    """The writes that make the index that of the snapshot. `accept_index` ends them."""
    if result.part_read is not None:
        yield from _iterate_changed(result.part_read.part.chunks, result.part_read.chunk_keys)
        return
    of_snapshot = _cut_into_chunks(context, result)
    if of_snapshot is not None:
        yield from iterate_new_index_writes(context.provider.pk, of_snapshot)


def iterate_new_index_writes(provider_id: int, chunks: Iterable[ChunkDraft]) -> Iterator[Write]:
    """The writes that make a new index of these chunks."""
    generation = _fetch_generation(provider_id) + 1
    # A sync that was cut off may have left some.
    yield Write(1, partial(_delete_all_but, provider_id, generation - 1))
    columns = ("provider_id", "generation", "number", *_HASH_COLUMNS, *_DESCRIBED_COLUMNS)
    for drafts in in_chunks(chunks, _CHUNKS_AT_ONCE):
        rows = [
            (provider_id, generation, each.number, *_hashes_of(each), *_described_of(each)) for each in drafts
        ]
        yield _write(partial(insert_rows, SnapshotIndexChunk, columns, rows), len(rows))


def accept_index(context: SyncContext, result: SyncResult, accepted_digest: str) -> None:
    """Make it the index of the snapshot that is accepted now, in the same transaction."""
    provider_id = context.provider.pk
    rows = SnapshotIndex.objects.filter(pk=provider_id)
    values = {
        "accepted_digest": accepted_digest,
        "set_aside": len(result.snapshot.set_aside),
        "claims_by_owner": dict(result.facts.claims_by_owner),
        "record_sets_by_owner": dict(result.facts.record_sets_by_owner),
        "names_in_order": sorted(result.facts.names_in_order),
    }
    if result.part_read is not None:
        # The rest of it is as in the index that the part was compared with.
        before = result.part_read.index
        if not rows.filter(generation=before.generation).update(
            **values, partial_syncs=before.partial_syncs + 1
        ):
            raise LeaseLost("Another run stored another snapshot of this provider meanwhile.")
        return
    if not _may_have_index(context, result):
        rows.delete()
        SnapshotIndexChunk.objects.filter(provider_id=provider_id).delete()
        return
    generation = _fetch_generation(provider_id) + 1
    SnapshotIndex.objects.update_or_create(
        provider_id=provider_id,
        defaults={
            **values,
            "reading_digest": context.reading.digest,
            "content_type": result.snapshot.content_type,
            "generation": generation,
            "partial_syncs": 0,
        },
    )
    _delete_all_but(provider_id, generation)


def read_facts(index: SnapshotIndex) -> SnapshotFacts:
    """The facts that an index keeps."""
    return SnapshotFacts(
        Counter(index.claims_by_owner), Counter(index.record_sets_by_owner), frozenset(index.names_in_order)
    )


def may_be_kept_up(result: SyncResult) -> bool:
    """Whether the facts of a snapshot can be kept up from parts of later ones: the mirror knows how many
    claims and record sets of the part each owner had, but not which owners labels name, nor which record sets
    are only there because they may be what was set aside."""
    facts = result.facts
    return (
        not facts.has_owner_labels
        and not result.plan.tally.kept
        and len(result.snapshot.set_aside) <= _MOST_SET_ASIDE
        and len(facts.claims_by_owner) <= _MOST_OWNERS
        and len(facts.names_in_order) <= _MOST_NAMES_IN_ORDER
    )


def _fetch_generation(provider_id: int) -> int:
    return SnapshotIndex.objects.filter(pk=provider_id).values_list("generation", flat=True).first() or 0


def _delete_all_but(provider_id: int, generation: int) -> None:
    SnapshotIndexChunk.objects.filter(provider_id=provider_id).exclude(generation=generation).delete()


def _may_have_index(context: SyncContext, result: SyncResult) -> bool:
    return (
        may_be_read_in_parts(context.reading)
        and may_be_kept_up(result)
        and may_be_linked_by_name(result.snapshot.listed.endpoints)
    )


def _cut_into_chunks(context: SyncContext, result: SyncResult) -> Iterator[ChunkDraft] | None:
    snapshot = result.snapshot
    if not _may_have_index(context, result):
        return None
    elements = cut_elements(snapshot.body, max_items=context.provider.max_items)
    described = describe_elements(snapshot.listed)
    if elements is None or len(elements) != len(described):
        return None
    return draft_chunks(elements, described, ElementHasher(build_element_seed(context.provider)))


def _iterate_changed(drafts: Sequence[ChunkDraft], keys: Mapping[int, int]) -> Iterator[Write]:
    empty = [keys[each.number] for each in drafts if not each.hashes]
    if empty:
        yield _write(partial(_delete_chunks, empty), len(empty))
    update = partial(update_rows, SnapshotIndexChunk)
    for some in in_chunks((each for each in drafts if each.hashes), _HASHES_AT_ONCE):
        hashes = [(*_hashes_of(each), keys[each.number]) for each in some]
        yield Write(_ROWS_PER_HASHES * len(some), partial(update, _HASH_COLUMNS, hashes))
    for some in in_chunks((each for each in drafts if each.described is not None), _CHUNKS_AT_ONCE):
        described = [(*_described_of(each), keys[each.number]) for each in some if each.hashes]
        yield _write(partial(update, _DESCRIBED_COLUMNS, described), len(some))


def _write(store: Callable[[], None], chunks: int) -> Write:
    return Write(_ROWS_PER_CHUNK * chunks, store)


def _delete_chunks(keys: Sequence[int]) -> None:
    SnapshotIndexChunk.objects.filter(pk__among=keys).delete()


def _hashes_of(draft: ChunkDraft) -> Row:
    hash_sum = sum_hashes(draft.hashes).to_bytes(HASH_BYTES, "big")
    return draft.digest, join_hashes(draft.hashes), hash_sum


def _described_of(draft: ChunkDraft) -> Row:
    described = draft.described or ()
    name_keys = [compute_name_key(each.name) for each in described]
    kinds = bytes(each.kind for each in described)
    return struct.pack(f"<{len(name_keys)}I", *name_keys), kinds, join_names(described)
