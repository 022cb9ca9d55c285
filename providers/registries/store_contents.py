"""All the claims of one registry store at one moment, told apart from those of another by a digest."""

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from providers.registries.stored_claim import StoredClaim

_DIGEST_BYTES = 16


class StoreContents(msgspec.Struct, frozen=True):
    """`reference` is the caller's own id of the registry profile, as in TxtProfile; `kind` its registry.

    `digest` is that of the reading the claims came from, where there was one.
    """

    reference: str
    kind: str
    claims: tuple[StoredClaim, ...]
    digest: bytes = b""


class StoreReading:
    """What a store said, not understood yet: most of the time it is what it said before.

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
