"""Encrypted claims are the bytes ExternalDNS writes, which begins with how the text is compressed."""

import gzip
import json
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.compression.gzip_text import MAX_BYTES, compress
from tests.providers.registries.compressible_texts import list_texts

_RECORDED = Path(__file__).parents[2] / "traffic" / "compressed-labels.jsonl"
# Made of the same texts with Go 1.26's compress/gzip at its best compression, flushed and closed.
_EXPECTED = Path(__file__).with_name("compressed_texts.txt")


def test_the_labels_external_dns_compressed_come_out_byte_for_byte() -> None:
    pairs = [json.loads(line) for line in _RECORDED.read_text().splitlines()]

    wrong = [each["text"] for each in pairs if compress(each["text"].encode()).hex() != each["gzip"]]

    assert len(pairs) == 300
    assert wrong == []


@pytest.mark.deep
def test_any_other_text_comes_out_byte_for_byte() -> None:
    lines = [line.partition(" ") for line in _EXPECTED.read_text().splitlines()]
    expected = {name: digest for digest, _, name in lines}

    found = {name: sha256(compress(text)).hexdigest()[:32] for name, text in list_texts()}

    assert found == expected


@settings(deadline=None)
@given(st.binary(max_size=3_000) | st.lists(st.sampled_from([b"ab", b"owner=", b"/"])).map(b"".join))
def test_what_is_compressed_is_what_unpacks(data: bytes) -> None:
    assert gzip.decompress(compress(data)) == data


def test_more_than_can_be_read_back_is_not_compressed() -> None:
    with pytest.raises(ValueError, match="At most 65536 bytes"):
        compress(bytes(MAX_BYTES + 1))
