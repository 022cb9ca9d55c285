"""Encrypted claims: ExternalDNS's are read, ours are fresh, and nothing hostile blows up."""

import base64
import gzip
import os
import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.encryption import (
    MAX_PLAIN_BYTES,
    decrypt_labels_text,
    differs_from_external_dns,
    encrypt_labels_text,
    looks_encrypted,
    parse_encryption_key,
    seems_to_differ_from_external_dns,
)
from providers.registries.errors import InvalidEncryptionKey, UnwritableLabel
from tests.providers.registries.zone import KEY, OTHER_KEY

_PLAIN = "heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/shop/web"
_KNOWN_KEY = "s%zF`.*'5`9.AhI2!B,.~hmbs^.*TL?;"
_KNOWN_TEXT = (
    "0Mfzf6wsN8llrfX0ucDZ6nlc2+QiQfKKedjPPLu5atb2I35L9nUZeJcCnuLVW7CVW3K0h94vSuBLdXnMrj8Vcm0M09shxaoF"
    "48IcCpD03XtQbKXqk2hPbsW6+JybvplHIQGr16/PcjUSObGmR9yjf38+qEltApkKvrPjsyw43BX4eE10rL0Bln33UJD7/w+z"
    "azRDPFlAcbGtkt0ETKHnvyB3/aCddLipvrhjCXj2ZY/ktRF6h716kJRgXU10dCIQHFYU45MIdxI+k10HK3yZqhI2V0Gp2xjr"
    "FV/LRQ7/OS9SFee4asPWUYxbCEsnOzp8qc0dCPFSo1dtADzWnUZnsAcbnjtudT4milfLJc5CxDk1v3ykqQ/ajejwHjWQ7b8U"
    "6AsTErbezfdcqrb5IzkLgHb5TosnfrdDmNc9GcKfpsrCHbVY8KgNwMVdtwavLv7d9WM6sooUlZ3t0sABGkzagXQmPRvwLnkS"
    "Olie5XrnzWo8/8/4UByLga29CaXO"
)

_TRAFFIC = Path(__file__).parents[2] / "traffic" / "encrypted.jsonl"


def _seal(compressed: bytes, key: bytes = KEY, nonce: bytes = b"") -> str:
    nonce = nonce or os.urandom(12)
    return base64.b64encode(nonce + AESGCM(key).encrypt(nonce, compressed, None)).decode()


def test_it_reads_what_external_dns_wrote() -> None:
    key = parse_encryption_key(_KNOWN_KEY)

    decrypted = decrypt_labels_text(_KNOWN_TEXT, key)

    assert decrypted is not None
    assert decrypted.plain.startswith("Lorem Ipsum is simply dummy text")
    assert decrypted.plain.endswith("versions of Lorem Ipsum.")
    assert len(decrypted.plain) == 574
    assert decrypted.nonce == base64.b64decode(_KNOWN_TEXT)[:12]


def test_what_it_writes_is_what_external_dns_would_write_again() -> None:
    """The recorded claims: each opened, and sealed again under the nonce that was read."""
    key = parse_encryption_key(_KNOWN_KEY)
    recorded = set(re.findall(r'\\\\\\"([A-Za-z0-9+/=]{100,})\\\\\\"', _TRAFFIC.read_text()))

    for text in recorded:
        read = decrypt_labels_text(text, key)
        assert read is not None
        written = decrypt_labels_text(encrypt_labels_text(read.plain, key), key)
        assert written is not None
        assert _seal(written.compressed, key, read.nonce) == text
        assert not differs_from_external_dns(text, key)
        assert not seems_to_differ_from_external_dns(text, key)
    assert len(recorded) > 5


def test_it_tells_a_claim_that_external_dns_would_write_otherwise() -> None:
    ours = encrypt_labels_text(_PLAIN, KEY)
    unsorted = "heritage=external-dns,external-dns/resource=ingress/shop/web,external-dns/owner=blue-cluster"
    otherwise = [_seal(gzip.compress(_PLAIN.encode(), 9)), encrypt_labels_text(unsorted, KEY)]

    assert not differs_from_external_dns(f'"{ours}"', KEY)
    assert not seems_to_differ_from_external_dns(ours, KEY)
    for text in otherwise:
        assert differs_from_external_dns(f'"{text}"', KEY)
        assert seems_to_differ_from_external_dns(text, KEY)
    for key, text in ((OTHER_KEY, otherwise[0]), (KEY, encrypt_labels_text("no heritage", KEY))):
        assert not differs_from_external_dns(text, key)
        assert not seems_to_differ_from_external_dns(text, key)


def test_more_than_can_be_read_back_is_not_encrypted() -> None:
    with pytest.raises(UnwritableLabel, match="64 KiB"):
        encrypt_labels_text("x" * (MAX_PLAIN_BYTES + 1), KEY)


def test_every_encryption_has_a_nonce_of_its_own() -> None:
    texts = [encrypt_labels_text(_PLAIN, KEY) for _ in range(50)]

    assert len({text[:16] for text in texts}) == 50


def test_a_decompression_bomb_is_unreadable() -> None:
    bomb = _seal(gzip.compress(bytes(50_000_000)))

    assert decrypt_labels_text(bomb, KEY) is None


def test_the_bound_on_plain_text_is_inclusive() -> None:
    just_fits = _seal(gzip.compress(b"x" * MAX_PLAIN_BYTES))
    one_more = _seal(gzip.compress(b"x" * (MAX_PLAIN_BYTES + 1)))

    fitting = decrypt_labels_text(just_fits, KEY)

    assert fitting is not None
    assert len(fitting.plain) == MAX_PLAIN_BYTES
    assert decrypt_labels_text(one_more, KEY) is None


@pytest.mark.parametrize(
    "compressed",
    [
        b"",
        b"not gzip",
        gzip.compress(b"cut short")[:-1],
        gzip.compress(b"followed by") + b"more",
        gzip.compress(b"\xff\xfe is not UTF-8"),
    ],
    ids=["empty", "not gzip", "cut short", "followed", "not UTF-8"],  # gzip writes the time into its bytes
)
def test_what_opens_but_does_not_unpack_is_unreadable(compressed: bytes) -> None:
    assert decrypt_labels_text(_seal(compressed), KEY) is None


def test_a_tampered_text_is_unreadable() -> None:
    sealed = bytearray(base64.b64decode(encrypt_labels_text(_PLAIN, KEY)))
    sealed[20] ^= 1

    assert decrypt_labels_text(base64.b64encode(sealed).decode(), KEY) is None


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_encrypted_is_read_back(plain: str) -> None:
    text = encrypt_labels_text(plain, KEY)

    decrypted = decrypt_labels_text(f'"{text}"', KEY)

    assert decrypted is not None
    assert decrypted.plain == plain
    assert decrypt_labels_text(text, OTHER_KEY) is None


@settings(deadline=None)
@given(st.text() | st.binary().map(lambda data: base64.b64encode(data).decode()))
def test_no_text_is_too_odd_to_be_tried(text: str) -> None:
    assert decrypt_labels_text(text, KEY) is None
    assert not looks_encrypted(text) or len(text) > 100


def test_a_claim_of_the_shortest_owner_looks_encrypted() -> None:
    shortest = encrypt_labels_text("heritage=external-dns,external-dns/owner=x", KEY)

    assert looks_encrypted(shortest)
    assert looks_encrypted(f'"{shortest}"')


@pytest.mark.parametrize(
    "text",
    [
        f"v=spf1 {'include:_spf.example.org ' * 5}-all",
        "0123456789abcdef" * 8,
        "c2hvcnQ=",
        "A" * 105,
        "x" * 103 + "_",
    ],
)
def test_ordinary_tokens_do_not_look_encrypted(text: str) -> None:
    assert not looks_encrypted(text)


@pytest.mark.parametrize("text", [_KNOWN_KEY, base64.b64encode(_KNOWN_KEY.encode()).decode()])
def test_a_key_comes_raw_or_in_base64(text: str) -> None:
    assert parse_encryption_key(text) == _KNOWN_KEY.encode()


@pytest.mark.parametrize("text", ["", "too short", "x" * 33, base64.b64encode(b"x" * 31).decode(), "\ud800"])
def test_it_refuses_what_is_no_key_without_repeating_it(text: str) -> None:
    with pytest.raises(InvalidEncryptionKey) as refusal:
        parse_encryption_key(text)

    assert not text or text not in str(refusal.value)


def test_it_tells_the_way_out_of_a_url_safe_key() -> None:
    with pytest.raises(InvalidEncryptionKey, match=r"write \+ for - and / for _"):
        parse_encryption_key(base64.urlsafe_b64encode(b"\xff" * 32).decode())
