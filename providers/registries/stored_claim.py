"""Claims beside DNS, in a registry store: one row for each record set that somebody owns, and all of them."""

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from providers.wire.endpoint import Endpoint, EndpointKey

_DIGEST_BYTES = 16


class StoredClaim(msgspec.Struct, frozen=True, gc=False):
    """One ownership statement of a registry store.

    `key` is its record set, canonical. `text` is its labels as a heritage text without
    quotes, as `providers.registries.labels` reads and writes them: whatever a store's own layout is,
    this is what is compared, reviewed and shown. `problem` says why a row is not valid; then `text`
    is what could be read of it. `meant_targets` are there in an intent, a row that was written before its
    record set: it counts only if the record set has just these targets.
    """

    key: EndpointKey
    text: str
    problem: str = ""
    meant_targets: tuple[str, ...] | None = None

    @property
    def is_settled(self) -> bool:
        """Whether it is valid, and no mere intent."""
        return not self.problem and self.meant_targets is None


class StoredClaimChange(msgspec.Struct, frozen=True, gc=False):
    """One row from `old` to `new`, both heritage texts; None: no row. Never None at both ends.

    `record` is the record set as its provider shows it, for stores that keep its targets beside the claim.
    `is_intent`: the record set is about to be created as `record` has it, and the row is written before. A
    store that tells intents apart keeps it as one until a change from `new` to `new` says that it came true;
    for any other store both are what they look like, a row and no change. `heir` is who owns the record set
    after a row goes, where that is known: by a claim in another registry, of which a store knows nothing.
    """

    record: Endpoint
    old: str | None
    new: str | None
    is_intent: bool = False
    heir: str = ""


class StoreContents(msgspec.Struct, frozen=True):
    """`reference` is the caller's own id of the registry profile, as in TxtProfile; `kind` its registry.

    `digest` is that of the reading the claims came from, where there was one.
    """

    reference: str
    kind: str
    claims: tuple[StoredClaim, ...]
    digest: bytes = b""


class StoreReading:
    """What a store returned, not decoded yet: most of the time it is what it returned before.

    Two readings of one digest have the same claims; those of another digest may have them too.
    """

    def __init__(self, digest: bytes, read: Callable[[], Sequence[StoredClaim]]) -> None:
        self.digest = digest
        self._read: Callable[[], Sequence[StoredClaim]] | None = read
        self._claims: Sequence[StoredClaim] = ()

    @property
    def claims(self) -> Sequence[StoredClaim]:
        """The claims, read once. Raises ProviderError as `RegistryStore.fetch_claims` does."""
        if self._read is not None:
            self._claims = self._read()
            self._read = None  # what they were read from takes more room than they do
        return self._claims


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(tuple[StoreContents, ...])


def encode_contents(contents: tuple[StoreContents, ...]) -> bytes:
    """The contents of several stores, to be kept and read again by this release."""
    return _ENCODER.encode(contents)


def decode_contents(data: bytes) -> tuple[StoreContents, ...]:
    """What `encode_contents` made. Raises msgspec.DecodeError for anything else."""
    return _DECODER.decode(data)


def compute_claims_digest(claims: Sequence[StoredClaim]) -> bytes:
    """The digest of claims in whatever order a store gave them."""
    return compute_digest(sorted(map(_ENCODER.encode, claims)))


def compute_digest(parts: object) -> bytes:
    """16 bytes of values that msgpack can hold."""
    return hashlib.blake2b(_ENCODER.encode(parts), digest_size=_DIGEST_BYTES).digest()
