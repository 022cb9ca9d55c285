"""A gzip file (RFC 1952) around the compressed text."""

import zlib

from providers.registries.compression.bits import BitWriter
from providers.registries.compression.blocks import write_block, write_stored
from providers.registries.compression.repeats import split_into_blocks

MAX_BYTES = 64 * 1024
# DEFLATE, no flags, no time, best compression, made by an unknown system.
_HEADER = bytes((0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 255))
# The lengths of an empty block, and a last block that is empty too.
_END = bytes((0, 0, 255, 255, 1, 0, 0, 255, 255))
_TRAILER_BYTES = 8


def compress(data: bytes) -> bytes:
    """The bytes that Go's compress/gzip makes of up to 64 KiB in one piece, at its best compression.

    As ExternalDNS calls it: flushed, which adds an empty block, then closed, which adds another.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"At most {MAX_BYTES} bytes are compressed; these are {len(data)}.")
    writer = BitWriter()
    for block in split_into_blocks(data):
        write_block(writer, block)
    write_stored(writer, b"")
    write_stored(writer, b"", is_last=True)
    checksum = zlib.crc32(data).to_bytes(4, "little")
    return _HEADER + writer.to_bytes() + checksum + len(data).to_bytes(4, "little")


def has_form_of_gzip_text(compressed: bytes) -> bool:
    """Whether these bytes begin and end as `compress` begins and ends them. It does not look between."""
    return compressed.startswith(_HEADER) and compressed[:-_TRAILER_BYTES].endswith(_END)
