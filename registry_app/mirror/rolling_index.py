"""An index in memory that follows the responses of a provider, one after the other. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from providers.wire.elements import sum_hashes
from registry_app.mirror.element_index import (
    ChunkDraft,
    ChunkHead,
    ChunkSource,
    Tally,
    compute_name_key,
    join_hashes,
    join_names,
    split_hashes,
    split_names,
)

Stored = TypeVar("Stored")
Part = TypeVar("Part")


class RollingIndex:
    """The chunks of the last response, and their ChunkSource. It begins with the chunks of `source`.

    What changed since is kept as a database keeps it: a Python object for each of a million elements would
    be large.
    """

    def __init__(self, heads: Iterable[ChunkHead] = (), source: ChunkSource | None = None) -> None:
        self.heads = list(heads)
        self._source = source
        self._index_in_source = {head.number: index for index, head in enumerate(self.heads)}
        self._hashes: dict[int, bytes] = {}
        self._names: dict[int, str] = {}

    def append(self, draft: ChunkDraft) -> None:
        """Add a chunk behind the others."""
        self._keep(draft)
        self.heads.append(_build_head(draft))

    def roll(self, drafts: Iterable[ChunkDraft]) -> None:
        """Put these chunks in the places of those with their numbers."""
        changed = {draft.number: draft for draft in drafts}
        for draft in changed.values():
            self._keep(draft)
        heads = ((head, changed.get(head.number)) for head in self.heads)
        self.heads = [
            _build_head(draft, head) if draft else head for head, draft in heads if not draft or draft.hashes
        ]

    def fetch_hashes(self, indexes: Sequence[int]) -> dict[int, Sequence[bytes]]:
        """See ChunkSource."""
        fetch = self._source.fetch_hashes if self._source else None
        return self._fetch(indexes, self._hashes, split_hashes, fetch)

    def fetch_names(self, indexes: Sequence[int]) -> dict[int, Sequence[str]]:
        """See ChunkSource."""
        fetch = self._source.fetch_names if self._source else None
        return self._fetch(indexes, self._names, split_names, fetch)

    @property
    def tally(self) -> Tally:
        """All its elements, counted."""
        return Tally.of_chunks([(head.name_keys, head.kinds) for head in self.heads])

    def _keep(self, draft: ChunkDraft) -> None:
        self._hashes[draft.number] = join_hashes(draft.hashes)
        if draft.described is not None:
            self._names[draft.number] = join_names(draft.described)

    def _fetch(
        self,
        indexes: Iterable[int],
        kept: Mapping[int, Stored],
        split: Callable[[Stored], Part],
        fetch: Callable[[Sequence[int]], Mapping[int, Part]] | None,
    ) -> dict[int, Part]:
        numbers = {index: self.heads[index].number for index in indexes}
        found = {index: split(kept[number]) for index, number in numbers.items() if number in kept}
        places = {index: self._index_in_source[numbers[index]] for index in numbers.keys() - found}
        if places and fetch is not None:
            fetched = fetch(sorted(places.values()))
            found.update((index, fetched[place]) for index, place in places.items())
        return found


def _build_head(draft: ChunkDraft, before: ChunkHead | None = None) -> ChunkHead:
    """`before` is that of the stored chunk: a draft may keep what it says of its elements."""
    hash_sum = sum_hashes(draft.hashes)
    if draft.described is None and before is not None:
        return before._replace(digest=draft.digest, hash_sum=hash_sum)
    described = draft.described or ()
    name_keys = tuple(compute_name_key(each.name) for each in described)
    return ChunkHead(draft.number, draft.digest, hash_sum, name_keys, bytes(each.kind for each in described))
