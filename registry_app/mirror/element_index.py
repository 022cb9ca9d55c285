"""The elements of a snapshot as chunks of hashes, names and kinds. Pure."""

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import compress
from typing import Final, NamedTuple, Protocol, Self

import msgspec

from providers.wire.canonical_name import canonical_name
from providers.wire.elements import HASH_BYTES, ElementHasher
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import DecodedRecords
from registry_app.mirror.plausibility import Counts, looks_like_claim

# Of a response in which one element in a hundred changed, half of the chunks are then as they were.
CHUNK_SIZE = 100
# Chunks grow where elements are added. Beyond this a whole reading makes new ones.
LARGEST_CHUNK = 4_000


def compute_name_key(name: str) -> int:
    """A number for a canonical name. Names that share one cost time, and decide nothing."""
    return zlib.crc32(name.encode())


# That of an element that was set aside, and has no name.
SET_ASIDE_KEY = compute_name_key("")


class ElementKind(IntEnum):
    """How an element counts, as `plausibility.count_endpoints` counts it where no other element has its
    identity. Stored: a value keeps its number. `TEXTS_AND_CLAIMS` is a TXT record set with texts of both
    kinds."""

    SET_ASIDE = 0
    RECORD_SET = 1
    TEXTS = 2
    CLAIMS = 3
    TEXTS_AND_CLAIMS = 4


class Element(NamedTuple):
    """What the index keeps of an element beside its hash: its canonical name, empty if it was set aside, and
    its kind."""

    name: str
    kind: int


SET_ASIDE_ELEMENT: Final = Element("", ElementKind.SET_ASIDE)


def describe_element(endpoint: Endpoint) -> Element:
    """What the index keeps of an endpoint. It was decoded, so its name can be read."""
    name = canonical_name(endpoint.dns_name)
    if endpoint.record_type.upper() != "TXT":
        return Element(name, ElementKind.RECORD_SET)
    are_claims = list(map(looks_like_claim, endpoint.targets))
    if not any(are_claims):
        return Element(name, ElementKind.TEXTS)
    return Element(name, ElementKind.CLAIMS if all(are_claims) else ElementKind.TEXTS_AND_CLAIMS)


def describe_elements(decoded: DecodedRecords) -> list[Element]:
    """What the index keeps of each element of a response, in its order."""
    found = [describe_element(endpoint) for endpoint in decoded.endpoints]
    for item in decoded.set_aside:
        found.insert(item.index, SET_ASIDE_ELEMENT)
    return found


class Tally(NamedTuple):
    """The kinds of some elements, a byte for each, and their name keys with their kinds by chunks."""

    kinds: bytes
    chunks: Sequence[tuple[Sequence[int], bytes]]

    @classmethod
    def of_chunks(cls, chunks: Sequence[tuple[Sequence[int], bytes]]) -> Self:
        """All elements of chunks."""
        return cls(b"".join(kinds for _, kinds in chunks), chunks)

    def count(self, *kinds: ElementKind) -> int:
        """How many are of these kinds."""
        return sum(map(self.kinds.count, kinds))

    def count_endpoints(self) -> Counts:
        """As `plausibility.count_endpoints`, where each has an identity of its own."""
        texts = self.count(ElementKind.TEXTS, ElementKind.TEXTS_AND_CLAIMS)
        return Counts(self.count(ElementKind.RECORD_SET), texts, self.count(ElementKind.CLAIMS))

    def at(self, name_keys: frozenset[int]) -> "Tally":
        """Those that have one of these name keys."""
        found_keys: list[int] = []
        found_kinds: list[bytes] = []
        for keys, kinds in self.chunks:
            if not name_keys.isdisjoint(keys):
                are_there = list(map(name_keys.__contains__, keys))
                found_keys += compress(keys, are_there)
                found_kinds.append(bytes(compress(kinds, are_there)))
        return Tally.of_chunks([(found_keys, b"".join(found_kinds))])


class ChunkHead(NamedTuple):
    """A stored chunk, without hashes and names. `digest` is empty where its elements do not follow one
    another in the response; `hash_sum` is the sum of its hashes; `kinds` has a byte for each."""

    number: int
    digest: bytes
    hash_sum: int
    name_keys: Sequence[int]
    kinds: bytes

    @property
    def size(self) -> int:
        """How many elements it has."""
        return len(self.name_keys)


class ChunkDraft(NamedTuple):
    """A chunk to store; one without elements is to be deleted. `described` are its elements; None where they
    are those that are stored."""

    number: int
    digest: bytes
    hashes: Sequence[bytes]
    described: Sequence[Element] | None


def draft_chunks(
    elements: Sequence[msgspec.Raw],
    described: Sequence[Element],
    hasher: ElementHasher,
    *,
    size: int = CHUNK_SIZE,
) -> Iterator[ChunkDraft]:
    """All chunks of a response, of which `described` are the elements."""
    parts = (described[start : start + size] for start in range(0, len(elements), size))
    return draft_described(elements, parts, hasher)


def draft_described(
    elements: Sequence[msgspec.Raw], parts: Iterable[Sequence[Element]], hasher: ElementHasher
) -> Iterator[ChunkDraft]:
    """All chunks of a response, of each of which `parts` has the elements."""
    end = 0
    for number, described in enumerate(parts):
        start, end = end, end + len(described)
        part = elements[start:end]
        yield ChunkDraft(number, hasher.hash_all(part), hasher.hash_each(part), described)


class ChunkSource(Protocol):
    """Reads the parts of stored chunks that seldom matter, by their indexes among the heads."""

    def fetch_hashes(self, indexes: Sequence[int]) -> Mapping[int, Sequence[bytes]]: ...

    def fetch_names(self, indexes: Sequence[int]) -> Mapping[int, Sequence[str]]: ...


def join_hashes(hashes: Iterable[bytes]) -> bytes:
    """As they are stored."""
    return b"".join(hashes)


def split_hashes(stored: bytes) -> list[bytes]:
    """The hashes that were joined."""
    # In one call: there may be a million.
    return list(struct.unpack(f"{HASH_BYTES}s" * (len(stored) // HASH_BYTES), stored))


def join_names(described: Iterable[Element]) -> str:
    """As they are stored."""
    return "\n".join(each.name for each in described)


def split_names(stored: str) -> list[str]:
    """The names that were joined."""
    return stored.split("\n")
