"""A digest that covers the elements of a response and not their order."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.wire.set_digest import compute_set_digest

_SEED = b"a secret of this provider"
_elements = st.lists(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=6,
)


def _digest(elements: list[object]) -> bytes | None:
    return compute_set_digest(msgspec.json.encode(elements), seed=_SEED)


@given(_elements, _elements)
def test_two_bodies_agree_just_when_they_have_the_same_elements_equally_often(
    one: list[object], other: list[object]
) -> None:
    is_same = Counter(map(msgspec.json.encode, one)) == Counter(map(msgspec.json.encode, other))

    assert (_digest(one) == _digest(other)) == is_same


@given(st.data(), _elements)
def test_the_order_of_the_elements_does_not_count(data: st.DataObject, elements: list[object]) -> None:
    assert _digest(data.draw(st.permutations(elements))) == _digest(elements)


def test_white_space_between_elements_does_not_count_and_inside_of_them_does() -> None:
    found = compute_set_digest(b' [ {"a":1} ,\n{"b":2} ] ', seed=_SEED)

    assert found == compute_set_digest(b'[{"b":2},{"a":1}]', seed=_SEED)
    assert found != compute_set_digest(b'[{"b": 2},{"a":1}]', seed=_SEED)


def test_another_secret_gives_another_digest() -> None:
    assert compute_set_digest(b"[1]", seed=b"one") != compute_set_digest(b"[1]", seed=b"other")


@pytest.mark.parametrize(
    "body", [b"", b"null", b"{}", b"[1", b"[1,]", b"[1]x", b"\xff", b"[" * 100_000, b"\xef\xbb\xbf[]"]
)
def test_what_is_no_array_has_none(body: bytes) -> None:
    assert compute_set_digest(body, seed=_SEED) is None
