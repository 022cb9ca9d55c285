"""The elements of a response as bytes: cut and hashed, not decoded.

Of two responses most elements are the same, byte for byte. Those need not be read again.
"""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from providers.wire.errors import WireError
from providers.wire.json_shape import raise_if_too_many, strip_frame

HASH_BYTES = 16
_NONCE = bytes(12)
_CUT = msgspec.json.Decoder(list[msgspec.Raw]).decode


def cut_elements(body: bytes, *, max_items: int) -> list[msgspec.Raw] | None:
    """The elements of a JSON array, in its order, without the white space around them. None for any other
    body, and for more elements than `max_items`."""
    try:
        elements = _CUT(strip_frame(body))
        raise_if_too_many(len(elements), max_items)
    except (msgspec.MsgspecError, RecursionError, WireError):
        return None
    return elements


def join_elements(elements: Sequence[msgspec.Raw]) -> bytes:
    """A body of these elements alone."""
    return b"[" + b",".join(elements) + b"]"


def sum_hashes(hashes: Iterable[bytes]) -> int:
    """The same for the same hashes in any order. Who does not know the seed of the hashes cannot make
    elements whose hashes have the sum of others."""
    return sum(map(int.from_bytes, hashes)) % (1 << 8 * HASH_BYTES)


class ElementHasher:
    """Hashes of 16 bytes. `seed` (up to 32 bytes) must be secret: elements are hostile, and one whose hash is
    that of another one would never be read."""

    def __init__(self, seed: bytes) -> None:
        # As salt and person the seed is part of the state that hashing begins with; a key would be a block of
        # 128 bytes before each element.
        self._seeded = hashlib.blake2b(salt=seed[:16], person=seed[16:], digest_size=HASH_BYTES)
        self._cipher = AESGCM(hashlib.sha256(seed).digest())

    def hash_each(self, elements: Sequence[msgspec.Raw]) -> list[bytes]:
        """A hash for each element."""
        hashes = []
        copy = self._seeded.copy
        for element in elements:
            each = copy()
            each.update(element)
            hashes.append(each.digest())
        return hashes

    def hash_all(self, elements: Sequence[msgspec.Raw]) -> bytes:
        """One hash for all of them in this order; costs a twentieth of a hash for each."""
        # A comma stands between two elements: they could not be cut otherwise.
        found = self._seeded.copy()
        # The tag of AES-GCM is ten times as fast as any hash. With one nonce for all, nobody may see the tag.
        found.update(self._cipher.encrypt(_NONCE, b"", b",".join(elements)))
        return found.digest()
