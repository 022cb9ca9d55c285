"""On any bytes at all: a value, or a WireError. 10,000 examples per decoder, as safety.md asks."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from providers.wire.canonical_name import endpoint_key
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import ParsedFilter, parse_domain_filter
from providers.wire.endpoint import Endpoint
from providers.wire.errors import WireError
from providers.wire.json_codec import (
    decode_change_set_strict,
    decode_endpoints_strict,
    decode_records,
    encode_endpoints,
)
from providers.wire.json_reading import LENIENT, parse_json, read_endpoint
from providers.wire.json_shape import raise_if_malformed, split_array, walk_array
from providers.wire.poison import find_poison
from tests.depth import deep_after, examples

KEYS = (
    "dnsName targets recordType setIdentifier recordTTL labels providerSpecific name value DNSName Targets "
    "label\u017f Labels create updateOld updateNew delete Create include exclude regexInclude filters"
).split()
PIECES = [
    *(f'"{key}":'.encode() for key in KEYS),
    b"[", b"]", b"{", b"}", b"[{", b"}]", b"},{", b",", b":", b" ", b"null", b"true", b"NaN", b"-1", b"300",
    b"1.5", b"9" * 40, b"[]", b"{}", b'["a"]', b'"www.example.org"', b'"A"', b'"\\u0000"', b'"\\ud800"',
    b'"\\n"', b'"\xff"', b'"', b"\\", b"\x00", b"\xef\xbb\xbf", b'"dnsN\\u0061me":',
    b'{"owner":"blue-cluster"}',
    b'{"dnsName":"a.example.org"}', b'{"dnsName":"b.example.org","recordTTL":300}',
]  # fmt: skip
soup = st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join)
framed_soup = soup.map(lambda middle: b"[" + middle + b"]") | soup.map(lambda middle: b"{" + middle + b"}")
fields = st.tuples(
    st.sampled_from([piece for piece in PIECES if piece.endswith(b'":')]),
    st.sampled_from([piece for piece in PIECES if not piece.endswith(b":")]),
).map(b"".join)
objects = st.lists(fields, max_size=5).map(lambda pairs: b"{" + b",".join(pairs) + b"}")
arrays = st.lists(objects, max_size=4).map(lambda items: b"[" + b",".join(items) + b"]")
hostile = st.binary(max_size=60) | soup | framed_soup | objects | arrays

MANY = settings(
    max_examples=examples(10_000), deadline=None, suppress_health_check=list(HealthCheck), database=None
)


def read_or_refuse(decode: Callable[[bytes], object], body: bytes) -> object:
    """The value, or the sentence of the refusal."""
    try:
        return decode(body)
    except WireError as error:
        return str(error)


def is_a_sentence_with_a_path(found: object) -> bool:
    return isinstance(found, str) and found.startswith("$") and found.isprintable()


@MANY
@given(hostile)
def test_reading_records_raises_nothing_but_a_wire_error(body: bytes) -> None:
    try:
        records = decode_records(body, max_items=6)
    except WireError:
        return

    assert len(records.endpoints) + len(records.set_aside) <= 6
    assert all(endpoint_key(endpoint) for endpoint in records.endpoints)
    assert all(len(aside.name) <= 253 and aside.name.isprintable() for aside in records.set_aside)
    assert decode_records(encode_endpoints(records.endpoints), max_items=6).endpoints == records.endpoints


@MANY
@given(hostile)
def test_reading_strictly_raises_nothing_but_a_wire_error(body: bytes) -> None:
    found = read_or_refuse(lambda raw: decode_endpoints_strict(raw, max_items=6), body)

    assert isinstance(found, tuple) or is_a_sentence_with_a_path(found)


@MANY
@given(hostile)
def test_reading_a_change_set_raises_nothing_but_a_wire_error(body: bytes) -> None:
    found = read_or_refuse(lambda raw: decode_change_set_strict(raw, max_items=6), body)

    assert isinstance(found, ChangeSet) or is_a_sentence_with_a_path(found)


@MANY
@given(hostile)
def test_reading_a_domain_filter_raises_nothing_but_a_wire_error(body: bytes) -> None:
    found = read_or_refuse(parse_domain_filter, body)

    assert isinstance(found, ParsedFilter) or is_a_sentence_with_a_path(found)


def read_slowly(body: bytes) -> object:
    endpoints: list[Endpoint] = []
    try:
        items = list(walk_array(body, max_items=6))
    except WireError as error:
        return str(error)
    for raw in items:
        try:
            endpoint = read_endpoint(parse_json(raw, "$", LENIENT), "$", LENIENT)
        except WireError:
            continue
        if find_poison(endpoint) is None:
            endpoints.append(endpoint)
    return endpoints


@settings(MANY, max_examples=examples(5_000))
@given(arrays)
def test_the_quick_reading_of_records_says_what_the_slow_one_says(body: bytes) -> None:
    slow = read_slowly(body)

    quick = read_or_refuse(lambda raw: decode_records(raw, max_items=6).endpoints, body)

    assert quick == slow


@settings(MANY, max_examples=examples(5_000))
@given(framed_soup.filter(lambda body: body.startswith(b"[")) | arrays)
def test_both_ways_of_finding_items_find_the_same(body: bytes) -> None:
    def find(split: Callable[[bytes, int], Iterator[bytes]]) -> object:
        try:
            return list(split(body, 6))
        except WireError as error:
            return type(error)

    assert find(split_array) == find(walk_array)


@pytest.mark.parametrize(
    "body",
    deep_after(
        3,
        [
            b'["' + b'\\"' * 1_000_000,
            b"[" + b"{[" * 700_000,
            b'[{"dnsName":' + b'"dnsName' * 100_000,
            b'"' * 2_000_000,
            b"[" + b'"\\' * 700_000,
            b"[" + b'{"a"' * 500_000,
            b"[" + b"," * 2_000_000,
            b"[" + b"{},x" * 500_000,
        ],
    ),
)
def test_large_hostile_bodies_end_quickly(body: bytes) -> None:
    # Quadratic work on these would take minutes, and the run's own time limit would tell.
    with pytest.raises(WireError):
        decode_records(body, max_items=1000)
    if body.startswith(b"["):
        with pytest.raises(WireError):
            raise_if_malformed(body, item_depth=1, max_items=1000)
