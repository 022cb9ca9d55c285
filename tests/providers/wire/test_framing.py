"""What makes a body as a whole untrustworthy."""

from collections.abc import Callable

import pytest

from providers.wire.change_set import ChangeSet
from providers.wire.errors import BodyTooDeep, NotAnArray, TooManyItems, UndecodableBody, WireError
from providers.wire.json_codec import (
    decode_change_set_strict,
    decode_endpoints_strict,
    decode_records,
    encode_change_set,
    encode_endpoints,
)
from tests.providers.wire.wire_values import WWW, WWW_CLAIM

Decode = Callable[[bytes], object]

ARRAYS: list[Decode] = [
    lambda body: decode_records(body, max_items=1000),
    lambda body: decode_endpoints_strict(body, max_items=1000),
]
ALL: list[Decode] = [*ARRAYS, lambda body: decode_change_set_strict(body, max_items=1000)]

RECORDED = encode_endpoints([WWW, WWW_CLAIM])
RECORDED_SPACED = (
    b'[ {"dnsName": "www.example.org", "targets": ["192.0.2.1"], "labels": null, "future": [{"a": "]}"}]},\n'
    b'  {"dnsName": "a-www.example.org", "recordType": "TXT", "targets": ["\\"heritage=external-dns\\""]}\n]'
)
RECORDED_CHANGES = encode_change_set(
    ChangeSet(create=(WWW,), update_old=(WWW_CLAIM,), update_new=(WWW_CLAIM,))
)


@pytest.mark.parametrize("decode", ARRAYS)
@pytest.mark.parametrize("body", [RECORDED, RECORDED_SPACED])
def test_an_answer_cut_short_at_any_byte_is_refused(decode: Decode, body: bytes) -> None:
    assert decode(body)

    for length in range(len(body)):
        with pytest.raises(WireError):
            decode(body[:length])


def test_a_change_set_cut_short_at_any_byte_is_refused() -> None:
    assert decode_change_set_strict(RECORDED_CHANGES, max_items=3)

    for length in range(len(RECORDED_CHANGES)):
        with pytest.raises(WireError):
            decode_change_set_strict(RECORDED_CHANGES[:length], max_items=3)


@pytest.mark.parametrize("decode", ARRAYS)
@pytest.mark.parametrize("tail", [b"x", b"[]", b",", b"]", b"}", b"null", b"\x00", b"\xef\xbb\xbf", b'"'])
@pytest.mark.parametrize("body", [b"[]", RECORDED, RECORDED_SPACED])
def test_nothing_may_follow_the_array(decode: Decode, body: bytes, tail: bytes) -> None:
    with pytest.raises(UndecodableBody):
        decode(body + b" " + tail)


@pytest.mark.parametrize("decode", ALL)
@pytest.mark.parametrize(
    "body",
    [b"", b"  ", b"\xef\xbb\xbf[]", b"\xef\xbb\xbf{}", b"\xff\xfe[\x00]\x00", b"[", b"{", b"]", b"[}", b"{]"],
)
def test_it_refuses_what_is_no_json(decode: Decode, body: bytes) -> None:
    with pytest.raises(WireError):
        decode(body)


@pytest.mark.parametrize("decode", ARRAYS)
@pytest.mark.parametrize("body", [b"{}", b'{"items":[]}', b'"[]"', b"7", b"true", b"nullx", b"<html>"])
def test_it_refuses_what_is_no_array(decode: Decode, body: bytes) -> None:
    with pytest.raises(NotAnArray):
        decode(body)


@pytest.mark.parametrize("decode", ARRAYS)
@pytest.mark.parametrize("body", [b"[,]", b"[{},]", b"[,{}]", b"[{},,{}]", b"[[}]", b"[{]]", b"[{}}"])
def test_it_does_not_guess_at_a_broken_array(decode: Decode, body: bytes) -> None:
    with pytest.raises(UndecodableBody):
        decode(body)


@pytest.mark.parametrize("decode", ALL)
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000,
        b'{"create":[{"x":' + b"[" * 5000 + b"]" * 5000 + b"}]}",
        b'[{"dnsName":"www.example.org","x":' + b"[" * 50_000 + b"]" * 50_000 + b"}]",
    ],
)
def test_a_hundred_thousand_levels_are_refused_without_a_crash(decode: Decode, body: bytes) -> None:
    with pytest.raises(WireError):
        decode(body)


@pytest.mark.parametrize("decode", ARRAYS)
def test_eight_levels_are_deep_enough_and_nine_are_refused(decode: Decode) -> None:
    def nest(levels: int) -> bytes:
        return b'[{"dnsName":"a.example.org","x":' + b"[" * (levels - 2) + b"]" * (levels - 2) + b"}]"

    assert decode(nest(8))
    with pytest.raises(BodyTooDeep):
        decode(nest(9))


@pytest.mark.parametrize("decode", ARRAYS)
def test_brackets_hidden_in_strings_neither_deepen_nor_flatten(decode: Decode) -> None:
    flat = b'[{"dnsName":"a.example.org","x":"' + b"[{" * 20 + b'"}]'
    deep = b'[{"dnsName":"a.example.org","x":' + b'["]",' * 9 + b"1" + b',"["]' * 9 + b"}]"

    assert decode(flat)
    with pytest.raises(BodyTooDeep):
        decode(deep)


@pytest.mark.parametrize(
    "items",
    [
        b",".join([b'{"dnsName":"a.example.org"}'] * 4),
        b" , ".join([b'{"dnsName":"a.example.org"}'] * 4),
        b",".join([b"NaN", b"{}"] * 50),
        b",".join([b"{}"] * 100),
    ],
)
@pytest.mark.parametrize("decode", [decode_records, decode_endpoints_strict])
def test_more_items_than_allowed_are_refused(decode: Callable[..., object], items: bytes) -> None:
    with pytest.raises(TooManyItems):
        decode(b"[" + items + b"]", max_items=3)


def test_the_four_lists_of_a_change_set_are_counted_together() -> None:
    changes = ChangeSet(create=(WWW,), update_old=(WWW,), update_new=(WWW,), delete=(WWW,))

    assert decode_change_set_strict(encode_change_set(changes), max_items=4) == changes
    for spelling in (False, True):
        with pytest.raises(TooManyItems):
            decode_change_set_strict(encode_change_set(changes, capitalized_keys=spelling), max_items=3)


def test_an_error_says_where_and_keeps_its_place_when_pickled() -> None:
    error = NotAnArray("an array was expected", path="$[17].targets")

    assert str(error) == "$[17].targets: an array was expected"
    assert error.__reduce__() == (NotAnArray, ("an array was expected", "$[17].targets"))
