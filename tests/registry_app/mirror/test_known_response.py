"""What is said of a response that follows a known one is what cutting and decoding all of it says."""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from providers.wire.elements import cut_elements, join_elements
from providers.wire.endpoint import Endpoint
from providers.wire.json_codec import decode_records, encode_endpoints
from registry_app.mirror.element_index import Element, compute_name_key, describe_elements
from registry_app.mirror.known_response import Difference, KnownResponse, remember_response
from tests.depth import examples
from tests.reference_server import make_claim, make_record

_LIMIT = 10_000
_ZONE = [
    each
    for number in range(300)
    for each in (make_record(f"a{number}.example.org"), make_claim(f"a{number}.example.org"))
]
# What holds other elements byte for byte, and is one element all the same.
_NESTED = b'{"dnsName":"n.example.org","x":[%b]}'
_EDITS = ("change", "insert", "delete", "append", "repeat", "move", "reverse", "cut off", "nest", "empty")


def _split(body: bytes) -> list[bytes]:
    found = cut_elements(body, max_items=_LIMIT)
    assert found is not None
    return [bytes(each) for each in found]


def _join(elements: Sequence[bytes]) -> bytes:
    return b"[%b]" % b",".join(elements)


def _describe(elements: Sequence[bytes]) -> list[Element]:
    return describe_elements(decode_records(_join(elements), max_items=_LIMIT))


def _remember(body: bytes) -> KnownResponse:
    elements = cut_elements(body, max_items=_LIMIT)
    described = _describe(_split(body))
    keys = [compute_name_key(each.name) for each in described]
    found = remember_response(body, elements or [], keys, bytes(each.kind for each in described))
    assert found is not None
    return found


def _list_all(known: KnownResponse) -> list[tuple[bytes, int, int]]:
    """Each element, with the key of its name and its kind."""
    tally = known.tally
    keys = list(chain.from_iterable(keys for keys, _ in tally.chunks))
    elements = known.select(frozenset(keys))
    return list(zip(map(bytes, elements), keys, tally.kinds, strict=True))


def _edit(elements: list[bytes], how: str, dice: random.Random) -> list[bytes]:
    place = dice.randrange(len(elements) + 1)
    fresh = encode_endpoints([make_record(f"b{dice.randrange(50)}.example.org", targets=("192.0.2.7",))])[
        1:-1
    ]
    some = dice.randrange(1, dice.choice([3, 250]))
    match how:
        case "change":
            return [*elements[:place], fresh, *elements[place + 1 :]]
        case "insert":
            return [*elements[:place], *[fresh] * dice.choice([1, 2, 120]), *elements[place:]]
        case "delete":
            return [*elements[:place], *elements[place + some :]]
        case "append":
            return [*elements, fresh]
        case "repeat":
            return [*elements, *elements[place : place + some]]
        case "move":
            return [*elements[:place], *elements[place + some :], *elements[place : place + some]]
        case "reverse":
            return elements[::-1]
        case "cut off":
            return elements[:place]
        case "nest":
            flat = [each for each in elements[place : place + some] if b'"x"' not in each]
            return [*elements[:place], _NESTED % b",".join(flat), *elements[place:]]
        case _:
            return []


def _check(diff: Difference, before: Sequence[bytes], now: Sequence[bytes]) -> KnownResponse:
    """Compared with what all of both responses says."""
    counts, known = Counter(now), Counter(before)
    changed = {each for each in counts.keys() | known.keys() if counts[each] != known[each]}
    gone = [each for each in changed if counts[each] < known[each]]
    new = set(map(bytes, diff.new))
    # Of one that is listed several times, those that stand where they stood are neither.
    assert {each for each in changed if counts[each] > known[each]} <= new <= changed
    assert (
        {each.name for each in _describe(gone)}
        <= diff.gone
        <= {each.name for each in _describe(list(changed))}
    )
    after = diff.apply(_describe(list(map(bytes, diff.new))))
    described = _describe(now)
    keys = [compute_name_key(each.name) for each in described]
    assert _list_all(after) == list(zip(now, keys, (each.kind for each in described), strict=True))
    for each in described[:: max(len(described) // 5, 1)]:
        assert after.may_have(each.name)
        key = compute_name_key(each.name)
        chosen = after.select(frozenset([key]))
        assert list(map(bytes, chosen)) == [
            element for element, own in zip(now, keys, strict=True) if own == key
        ]
    return after


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(_EDITS), min_size=1, max_size=3), min_size=1, max_size=5),
    st.integers(0, len(_ZONE)),
    st.randoms(use_true_random=False),
)
def test_after_any_changes_it_says_what_the_whole_response_says(
    steps: list[list[str]], size: int, dice: random.Random
) -> None:
    elements = _split(encode_endpoints(_ZONE[:size]))
    known = _remember(_join(elements))
    for edits in steps:
        before = elements
        for how in edits:
            elements = _edit(elements, how, dice)
        diff = known.compare(_join(elements), max_items=_LIMIT)
        event(f"compared: {diff is not None}")
        known = _remember(_join(elements)) if diff is None else _check(diff, before, elements)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(0, 1),
            st.sampled_from([b"", b",", b"]", b"[", b" ", b"{", b'"', b"1"]),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_body_with_wrong_bytes_is_compared_only_if_it_is_an_array(
    edits: list[tuple[float, bytes, int]],
) -> None:
    body = encode_endpoints(_ZONE[:450])
    known, before, now = _remember(body), _split(body), bytearray(body)
    commas = [place for place, each in enumerate(body) if body[place - 1 : place + 2] == b"},{"]
    for where, text, removed in edits:
        place = commas[int(where * (len(commas) - 1))] if removed else int(where * len(now))
        now[place : place + removed] = text

    diff = known.compare(bytes(now), max_items=_LIMIT)

    whole = cut_elements(bytes(now), max_items=_LIMIT)
    event(f"an array: {whole is not None}, compared: {diff is not None}")
    if diff is not None:
        assert whole is not None
        _check(diff, before, list(map(bytes, whole)))


@pytest.mark.parametrize(
    "end", [b"", b",", b",,", b"]", b"],[1", b",1", b"1", b" ", b"\n", b'{"dnsName":"x"}', b",]"]
)
def test_what_follows_the_last_element_is_seen(end: bytes) -> None:
    elements = _split(encode_endpoints(_ZONE[:200]))
    body = b"[%b]" % b",".join(elements)
    now = body[:-1] + end + b"]"

    diff = _remember(body).compare(now, max_items=_LIMIT)

    whole = cut_elements(now, max_items=_LIMIT)
    assert (diff is not None) == (whole is not None and end not in (b" ", b"\n"))
    if diff is not None and whole is not None:
        _check(diff, elements, list(map(bytes, whole)))


def test_chunks_that_stand_inside_of_another_element_are_not_taken_for_elements() -> None:
    elements = _split(encode_endpoints(_ZONE[:400]))
    # Each chunk of a hundred stands in it as it stood.
    nested = [elements[0], _NESTED % b",".join(elements)]

    # Only a reading of all of it tells.
    assert _remember(_join(elements)).compare(_join(nested), max_items=_LIMIT) is None


def test_only_what_differs_is_new_wherever_it_stands() -> None:
    changed = [*_ZONE]
    changed[5] = changed[305] = changed[599] = make_record("other.example.org", targets=("192.0.2.9",))
    body = encode_endpoints([make_record("first.example.org"), *changed, make_record("last.example.org")])

    diff = _remember(encode_endpoints(_ZONE)).compare(body, max_items=_LIMIT)

    assert diff is not None
    assert len(diff.new) == 5
    assert diff.gone == {each.dns_name for each in (_ZONE[5], _ZONE[305], _ZONE[599])}


def test_more_elements_than_allowed_are_not_compared() -> None:
    body = encode_endpoints([*_ZONE, make_record("one-more.example.org")])

    known = _remember(encode_endpoints(_ZONE))

    assert known.compare(body, max_items=len(_ZONE)) is None
    assert known.compare(body, max_items=len(_ZONE) + 1) is not None


def test_a_response_with_spaces_between_its_elements_is_not_remembered() -> None:
    body = encode_endpoints(_ZONE[:2]).replace(b"},{", b"}, {")
    elements = cut_elements(body, max_items=_LIMIT) or []

    assert remember_response(body, elements, [0, 0], b"\1\1") is None
    assert join_elements(elements) == encode_endpoints(_ZONE[:2])


def test_names_that_come_and_go_do_not_add_up() -> None:
    known = _remember(encode_endpoints(_ZONE[:4]))
    zones = [encode_endpoints([*_ZONE[:4], _make_other(number)]) for number in range(1_500)]
    for body in zones:
        diff = known.compare(body, max_items=_LIMIT)
        assert diff is not None
        known = diff.apply(_describe(list(map(bytes, diff.new))))

    assert not known.may_have("other-0.example.org")
    assert known.may_have("other-1499.example.org")


def _make_other(number: int) -> Endpoint:
    return make_record(f"other-{number}.example.org")
