"""Encrypted claims: AES-256-GCM over the gzip-compressed heritage text, in base64.

ExternalDNS rebuilds a claim from its labels, under the nonce it read, and a provider that compares values
compares that with what it stores. So a claim must be the bytes ExternalDNS would make of it.

A nonce used twice with one key for two texts gives both texts away. No function here takes a nonce:
a text that changes gets a fresh one, a text that does not change keeps its bytes.
"""

import binascii
import os
import zlib

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from providers.registries.compression.gzip_text import MAX_BYTES, compress, has_form_of_gzip_text
from providers.registries.errors import InvalidEncryptionKey, UnwritableLabel
from providers.registries.labels import rebuild_text

KEY_BYTES = 32
MAX_PLAIN_BYTES = MAX_BYTES
_NONCE_BYTES = 12
_TAG_BYTES = 16
# The shortest claim there is, owner id of one letter, takes 52 bytes of gzip.
_MIN_GZIP_BYTES = 48
_MIN_CLAIM_CHARS = (_NONCE_BYTES + _TAG_BYTES + _MIN_GZIP_BYTES) // 3 * 4
_GZIP_FRAMING = 16 + zlib.MAX_WBITS
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


class Decrypted(msgspec.Struct, frozen=True):
    """What an encrypted claim says, the nonce it was said under, and the compressed text inside."""

    plain: str
    nonce: bytes
    compressed: bytes


def parse_encryption_key(text: str) -> bytes:
    """The 32 bytes of a key given raw or in standard base64, as ExternalDNS takes them.

    Raises InvalidEncryptionKey; its message never repeats the text.
    """
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) == KEY_BYTES:
        return raw
    key = _decode_base64(text)
    if key is not None and len(key) == KEY_BYTES:
        return key
    hint = ""
    if "-" in text or "_" in text:
        hint = " ExternalDNS does not read the URL-safe alphabet: write + for - and / for _."
    raise InvalidEncryptionKey(
        f"A TXT encryption key is 32 characters, or 32 bytes in standard base64; this is neither.{hint}"
    )


def encrypt_labels_text(plain: str, key: bytes) -> str:
    """The encrypted form of a heritage text (given without quotes), without quotes, under a fresh nonce.

    Raises UnwritableLabel for more than 64 KiB: nobody could read it back.
    """
    text = plain.encode()
    if len(text) > MAX_PLAIN_BYTES:
        raise UnwritableLabel("A claim of more than 64 KiB cannot be encrypted; nothing was written.")
    nonce = os.urandom(_NONCE_BYTES)
    sealed = nonce + AESGCM(key).encrypt(nonce, compress(text), None)
    return binascii.b2a_base64(sealed, newline=False).decode("ascii")


def decrypt_labels_text(text: str, key: bytes) -> Decrypted | None:
    """What the text says under this key; None if it is not encrypted, or not with this key.

    Quotes around the text are optional. More than 64 KiB of plain text counts as unreadable.
    """
    sealed = _decode_base64(text.strip('"'))
    if sealed is None or len(sealed) <= _NONCE_BYTES + _TAG_BYTES:
        return None
    nonce = sealed[:_NONCE_BYTES]
    try:
        gzipped = AESGCM(key).decrypt(nonce, sealed[_NONCE_BYTES:], None)
    except InvalidTag:
        return None
    plain = _decompress(gzipped)
    return None if plain is None else Decrypted(plain, nonce, gzipped)


def differs_from_external_dns(text: str, key: bytes) -> bool:
    """Whether ExternalDNS, holding this key, would write other bytes for what this encrypted claim says.

    False for what does not open with the key, or says nothing that a claim can say. Compresses the text.
    """
    decrypted = decrypt_labels_text(text, key)
    if decrypted is None:
        return False
    rebuilt = rebuild_text(decrypted.plain)
    return rebuilt is not None and compress(rebuilt.encode()) != decrypted.compressed


def seems_to_differ_from_external_dns(text: str, key: bytes) -> bool:
    """The same at a glance, for many claims: how the text was compressed is seen by its beginning and end."""
    decrypted = decrypt_labels_text(text, key)
    if decrypted is None:
        return False
    rebuilt = rebuild_text(decrypted.plain)
    return rebuilt is not None and not (
        rebuilt == decrypted.plain and has_form_of_gzip_text(decrypted.compressed)
    )


def looks_encrypted(text: str) -> bool:
    """Whether a text has the form of an encrypted claim: long enough base64 that is not a hex digest."""
    body = text.strip('"')
    if len(body) < _MIN_CLAIM_CHARS or len(body) % 4:
        return False
    # Verification tokens are often hex, which is base64 too; random base64 this long never is hex.
    return not _HEX_DIGITS.issuperset(body) and _decode_base64(body) is not None


def _decode_base64(text: str) -> bytes | None:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return None


def _decompress(gzipped: bytes) -> str | None:
    decompressor = zlib.decompressobj(_GZIP_FRAMING)
    try:
        # One byte more than allowed tells "too long" from "just fits".
        plain = decompressor.decompress(gzipped, MAX_PLAIN_BYTES + 1)
        if len(plain) > MAX_PLAIN_BYTES or not decompressor.eof or decompressor.unused_data:
            return None
        return plain.decode()
    except (zlib.error, UnicodeDecodeError):
        return None
