"""Which chunks of a body stand in another one, and what is between these. Pure.

A body is an array whose elements have nothing but commas between them.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from providers.wire.json_shape import WHITE_SPACE

# Where a chunk is not, so many of the next ones are looked for, and so many bytes beyond their places.
_CHUNKS_AHEAD = 8
_BYTES_AHEAD = 16 * 1024
_LONGEST_TAIL = 16
_COMMA = ord(",")


class Region(NamedTuple):
    """In place of the chunks `first` to `last`, this one not included, the next response has what is between
    two bytes: commas around it are left out."""

    first: int
    last: int
    start: int
    end: int


class ChunkedBody:
    """A body whose chunks have these sizes, in bytes, with a comma between two of them."""

    def __init__(self, body: bytes, sizes: Sequence[int]) -> None:
        self._view = memoryview(body)
        self._sizes = sizes
        # Behind each chunk is a comma, or the closing bracket.
        self._starts = list(accumulate((size + 1 for size in sizes), initial=1))

    def cut(self, first: int, last: int) -> memoryview:
        """The chunks `first` to `last`, this one not included, with the commas between them."""
        return self._view[self._starts[first] : self._starts[last] - 1]

    def find_regions(self, body: bytes) -> list[Region] | None:
        """What is not in another body as it was, in its order. Each region has a chunk at least, and is to
        have an element at least. None where that cannot be told: where it has none, or is no array."""
        close = find_close(body)
        return None if close is None else self._widen(self._find_regions(body, close))

    def _find_regions(self, body: bytes, close: int) -> list[Region]:
        """What is not in the next response as it was. `close` is where that ends."""
        regions: list[Region] = []
        index, position, count = 0, 1, len(self._sizes)
        run = 1
        while index < count:
            run = min(run, count - index)
            if self._are_at(index, index + run, body, position, close):
                position += self._starts[index + run] - self._starts[index]
                index, run = index + run, 2 * run
                continue
            if run > 1:
                run = 1
                continue
            following = self._find_following(index, body, position, close)
            if following is None:
                return [*regions, self._match_from_back(index, body, position, close)]
            later, place = following
            regions.append(Region(index, later, position, place - 1))
            index, position = later, place
        if position <= close:
            regions.append(Region(count, count, position, close))
        return regions

    def _are_at(self, first: int, last: int, body: bytes, position: int, close: int) -> bool:
        """Whether the chunks `first` to `last`, this one not included, are there."""
        end = position + self._starts[last] - self._starts[first] - 1
        is_end = end == close or (end < close and body[end] == _COMMA)
        return is_end and body.startswith(self.cut(first, last), position)

    def _find_following(self, index: int, body: bytes, position: int, close: int) -> tuple[int, int] | None:
        """The next chunk that is there, and where."""
        for later in range(index + 1, min(index + 1 + _CHUNKS_AHEAD, len(self._sizes))):
            ahead = self._starts[later + 1] - self._starts[index] + _BYTES_AHEAD
            place = body.find(self.cut(later, later + 1), position, min(position + ahead, close))
            is_between = place == position or (place > position and body[place - 1] == _COMMA)
            if is_between and self._are_at(later, later + 1, body, place, close):
                return later, place
        return None

    def _match_from_back(self, first: int, body: bytes, position: int, close: int) -> Region:
        last, end = len(self._sizes), close
        while last > first:
            start = end - self._sizes[last - 1]
            is_behind = start > position and body[start - 1] == _COMMA
            if not (is_behind and body.startswith(self.cut(last - 1, last), start)):
                break
            last, end = last - 1, start - 1
        return Region(first, last, position, end)

    def _widen(self, regions: Sequence[Region]) -> list[Region] | None:
        """Each with a chunk at least, and an element at least: a chunk beside it is as it was. None where
        there is none."""
        wide: list[Region] = []
        for region in regions:
            first, last, start, end = region
            if first == last or start > end:
                taken = wide[-1].last if wide else 0
                if first > taken:
                    first, start = first - 1, start - 1 - self._sizes[first - 1]
                elif last < len(self._sizes):
                    last, end = last + 1, end + 1 + self._sizes[last]
                else:
                    return None
            wide.append(Region(first, last, start, end))
        return wide


def find_close(body: bytes) -> int | None:
    """Where an array ends that begins with the first byte."""
    tail = body[-_LONGEST_TAIL:]
    close = len(body) - len(tail) + len(tail.rstrip(WHITE_SPACE)) - 1
    is_array = len(body) > 1 and body.startswith(b"[") and body.startswith(b"]", max(close, 1))
    return close if is_array else None
