"""Elements of a response are cut and hashed without being decoded."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.wire.elements import HASH_BYTES, ElementHasher, cut_elements, join_elements

_HASHER = ElementHasher(b"seed")
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def _cut(body: bytes) -> list[msgspec.Raw]:
    elements = cut_elements(body, max_items=100)
    assert elements is not None
    return elements


@given(st.lists(_JSON, max_size=8))
def test_what_was_cut_decodes_to_the_elements(values: list[object]) -> None:
    elements = _cut(msgspec.json.encode(values))

    assert [msgspec.json.decode(each) for each in elements] == values
    assert msgspec.json.decode(join_elements(elements)) == values


def test_white_space_between_elements_is_no_part_of_them() -> None:
    spaced, plain = _cut(b' [ {"a":1} ,\n{"b":2} ] '), _cut(b'[{"a":1},{"b":2}]')

    assert _HASHER.hash_each(spaced) == _HASHER.hash_each(plain)
    assert _HASHER.hash_all(spaced) == _HASHER.hash_all(plain)


def test_white_space_inside_an_element_makes_it_another_one() -> None:
    assert _HASHER.hash_each(_cut(b'[{"b": 2}]')) != _HASHER.hash_each(_cut(b'[{"b":2}]'))


def test_another_order_or_another_division_has_another_hash_for_all() -> None:
    bodies = (b"[1,2,3]", b"[2,1,3]", b"[12,3]", b"[[1,2],3]", b"[1,2]", b'["1,2,3"]', b"[]")

    assert len({_HASHER.hash_all(_cut(body)) for body in bodies}) == len(bodies)


def test_who_does_not_know_the_seed_cannot_compute_a_hash() -> None:
    elements = _cut(b"[1]")

    assert ElementHasher(b"other").hash_each(elements) != _HASHER.hash_each(elements)
    assert [len(each) for each in _HASHER.hash_each(elements)] == [HASH_BYTES]


@pytest.mark.parametrize(
    "body", [b"", b"null", b"{}", b"[1", b"[1]x", b"[1,]", b"\xef\xbb\xbf[1]", b"[" * 100_000]
)
def test_what_is_no_array_is_not_cut(body: bytes) -> None:
    assert cut_elements(body, max_items=100) is None


def test_more_elements_than_allowed_are_not_cut() -> None:
    assert cut_elements(b"[1,2,3]", max_items=2) is None
