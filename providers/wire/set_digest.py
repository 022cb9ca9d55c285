"""A digest of the elements of a response that does not depend on their order.

Many providers list a map, in another order each time. Elements are cut and hashed, not decoded.
"""

import hashlib

import msgspec

from providers.wire.errors import WireError
from providers.wire.json_shape import strip_frame

_HASH_BYTES = 16
_COUNT_BYTES = 8
_CUT = msgspec.json.Decoder(list[msgspec.Raw]).decode


def compute_set_digest(body: bytes, *, seed: bytes) -> bytes | None:
    """24 bytes: the sum of the elements' hashes, and their number. None for a body that is no JSON array.

    Two bodies have the same digest if they have the same elements, byte for byte, equally often. `seed` (up
    to 64 bytes) must be secret: who knows it can compute other elements whose hashes have the same sum.
    """
    try:
        elements = _CUT(strip_frame(body))
    except (msgspec.MsgspecError, RecursionError, WireError):
        return None
    seeded = hashlib.blake2b(key=seed, digest_size=_HASH_BYTES)
    total = 0
    for element in elements:
        each = seeded.copy()
        each.update(element)
        total += int.from_bytes(each.digest(), "big")
    hashes = total % (1 << 8 * _HASH_BYTES)
    return hashes.to_bytes(_HASH_BYTES, "big") + len(elements).to_bytes(_COUNT_BYTES, "big")
