"""The elements of a snapshot as chunks of hashes and names. Pure."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from providers.wire.elements import ElementHasher

# Of a response in which one element in a hundred changed, half of the chunks are then as they were.
CHUNK_SIZE = 100
# Chunks grow where elements are added. Beyond this a whole reading makes new ones.
LARGEST_CHUNK = 4_000


def compute_name_key(name: str) -> int:
    """A number for a canonical name. Names that share one cost time, and decide nothing."""
    return zlib.crc32(name.encode())


# That of an element that was set aside, and has no name.
SET_ASIDE_KEY = compute_name_key("")


class ChunkHead(NamedTuple):
    """A stored chunk, without hashes and names. `digest` is empty where its elements do not follow one
    another in the response; `hash_sum` is the sum of its hashes."""

    number: int
    digest: bytes
    hash_sum: int
    name_keys: Sequence[int]

    @property
    def size(self) -> int:
        """How many elements it has."""
        return len(self.name_keys)


class ChunkDraft(NamedTuple):
    """A chunk to store; one without elements is to be deleted. `names` are canonical, empty for an element
    that was set aside; None where they are those that are stored."""

    number: int
    digest: bytes
    hashes: Sequence[bytes]
    names: Sequence[str] | None


def draft_chunks(
    elements: Sequence[msgspec.Raw], names: Sequence[str], hasher: ElementHasher, *, size: int = CHUNK_SIZE
) -> Iterator[ChunkDraft]:
    """All chunks of a response. `names` are those of its elements."""
    for number, start in enumerate(range(0, len(elements), size)):
        part = elements[start : start + size]
        hashes, digest = hasher.hash_each(part), hasher.hash_all(part)
        yield ChunkDraft(number, digest, hashes, names[start : start + size])


class ChunkSource(Protocol):
    """Reads the parts of stored chunks that seldom matter, by their indexes among the heads."""

    def fetch_hashes(self, indexes: Sequence[int]) -> Mapping[int, Sequence[bytes]]: ...

    def fetch_names(self, indexes: Sequence[int]) -> Mapping[int, Sequence[str]]: ...
