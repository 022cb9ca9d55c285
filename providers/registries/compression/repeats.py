"""The first half of DEFLATE: a text becomes literal bytes and repeats of what came before."""

from collections import defaultdict, deque
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

MAX_TOKENS_PER_BLOCK = 16_384
_SHORTEST = 4  # the format allows three; this compressor never uses them
_LONGEST = 258
_WINDOW = 32_768
_SHORTEST_REACHES = 4_096
_EARLIER_PLACES_TRIED = 4_096


class Repeat(NamedTuple):
    """`length` bytes that stood `distance` bytes before."""

    length: int
    distance: int


Token = int | Repeat
_NONE = Repeat(_SHORTEST - 1, 0)


class Block(NamedTuple):
    """Tokens that are encoded together, and the bytes they stand for."""

    tokens: list[Token]
    data: bytes


def split_into_blocks(data: bytes) -> Iterator[Block]:
    """The tokens of a text of at most 64 KiB, in blocks of limited size."""
    tokens = list(_find_tokens(data))
    start = 0
    for first in range(0, len(tokens), MAX_TOKENS_PER_BLOCK):
        mine = tokens[first : first + MAX_TOKENS_PER_BLOCK]
        end = start + sum(1 if isinstance(token, int) else token.length for token in mine)
        yield Block(mine, data[start:end])
        start = end


def _find_tokens(data: bytes) -> Iterator[Token]:
    """A repeat is taken one byte late: only where none that is longer begins at the next byte."""
    places = _EarlierPlaces(data)
    before = _NONE  # the repeat found at the byte before, which has no token yet
    is_waiting = False  # whether the byte before has no token yet
    place = 0
    while place < len(data):
        floor = places.add(place)
        here = _NONE
        if before.length < min(_LONGEST, len(data) - place):
            here = _find_longest(data, place, floor)
        if before is not _NONE and here.length <= before.length:
            yield before
            end = place + before.length - 1
            for passed in range(place + 1, end):
                places.add(passed)
            place, before, is_waiting = end, _NONE, False
            continue
        if is_waiting:
            yield data[place - 1]
        place, before, is_waiting = place + 1, here, True
    if is_waiting:
        yield data[-1]


class _EarlierPlaces:
    """Remembers where each hash of four bytes stood, as far back as the compressor looks.

    It looks at a limited number of places with the same hash, so texts that merely share a hash count.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._by_hash: dict[int, deque[int]] = defaultdict(partial(deque, maxlen=_EARLIER_PLACES_TRIED))

    def add(self, place: int) -> int:
        """Remember a place. The earliest place a repeat may come from; the place itself if there is none."""
        four = self._data[place : place + _SHORTEST]
        if len(four) < _SHORTEST:
            return place
        earlier = self._by_hash[(int.from_bytes(four, "big") * 0x1E35A7BD & 0xFFFFFFFF) >> 15]
        first = earlier[0] if earlier else place
        earlier.append(place)
        return max(first, place - _WINDOW)


def _find_longest(data: bytes, place: int, floor: int) -> Repeat:
    """The longest repeat at a place, the nearest of several; `_NONE` without one that is worth it."""
    best = _NONE
    limit = min(_LONGEST, len(data) - place)
    before = place
    while best.length < limit and floor < before:
        # Whatever is longer repeats one byte more than the best so far.
        length = best.length + 1
        before = data.rfind(data[place : place + length], floor, before + best.length)
        if before < 0:
            break
        while length < limit and data[before + length] == data[place + length]:
            length += 1
        if length > _SHORTEST or place - before <= _SHORTEST_REACHES:
            best = Repeat(length, place - before)
    return best
