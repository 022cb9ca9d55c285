"""All the claims of one registry store at one moment."""

import msgspec

from providers.registries.stored_claim import StoredClaim


class StoreContents(msgspec.Struct, frozen=True):
    """`reference` is the caller's own id of the registry profile, as in TxtProfile; `kind` its registry."""

    reference: str
    kind: str
    claims: tuple[StoredClaim, ...]


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(tuple[StoreContents, ...])


def encode_contents(contents: tuple[StoreContents, ...]) -> bytes:
    """The contents of several stores, to be kept and read again by this release."""
    return _ENCODER.encode(contents)


def decode_contents(data: bytes) -> tuple[StoreContents, ...]:
    """What `encode_contents` made. Raises msgspec.DecodeError for anything else."""
    return _DECODER.decode(data)
