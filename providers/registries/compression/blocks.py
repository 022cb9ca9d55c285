"""The second half of DEFLATE (RFC 1951): tokens become bits, under whichever code takes the fewest."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from providers.registries.compression.bits import BitWriter
from providers.registries.compression.prefix_code import (
    Code,
    PrefixCode,
    assign_codes,
    build_prefix_code,
    measure,
)
from providers.registries.compression.repeats import Block, Token

_END_OF_BLOCK = 256
_FIRST_LENGTH = 257
_MAX_CODE_LENGTH = 15
_MAX_CODE_LENGTH_OF_LENGTHS = 7
_MAX_STORED_BYTES = 65_535
_STORED, _FIXED, _DYNAMIC = 0, 1, 2


class _Class(NamedTuple):
    """Values that share one symbol and differ in extra bits: `base` is the smallest."""

    base: int
    extra_bits: int


def _build_classes(first: int, extra_bits: Sequence[int]) -> tuple[_Class, ...]:
    classes = []
    base = first
    for bits in extra_bits:
        classes.append(_Class(base, bits))
        base += 1 << bits
    return tuple(classes)


# Length 258 has a symbol of its own, though 5 extra bits at 227 would reach it.
_LENGTHS = (
    *_build_classes(3, [0] * 8 + [bits for bits in range(1, 6) for _ in range(4)]),
    _Class(258, 0),
)
_DISTANCES = _build_classes(1, [0, 0] + [bits for bits in range(14) for _ in range(2)])
_LENGTH_BASES = tuple(each.base for each in _LENGTHS)
_DISTANCE_BASES = tuple(each.base for each in _DISTANCES)

_FIXED_TOKENS = assign_codes(
    {symbol: 7 if 256 <= symbol < 280 else 9 if 144 <= symbol < 256 else 8 for symbol in range(288)}
)
_FIXED_DISTANCES = assign_codes(dict.fromkeys(range(32), 5))

# Symbols of the code lengths: 0 to 15 is a length; these repeat one, with extra bits that say how often.
_REPEAT_LAST, _REPEAT_ZERO, _REPEAT_ZERO_OFTEN = 16, 17, 18
_EXTRA_BITS = {_REPEAT_LAST: 2, _REPEAT_ZERO: 3, _REPEAT_ZERO_OFTEN: 7}
_ORDER_OF_LENGTHS = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)


class _Symbol(NamedTuple):
    """A symbol with the extra bits that follow it."""

    symbol: int
    extra: int = 0
    extra_bits: int = 0


class _Coding(NamedTuple):
    """The codes of one block."""

    tokens: PrefixCode
    distances: PrefixCode


def write_block(writer: BitWriter, block: Block) -> None:
    """A block in the form that takes the fewest bits; of equal ones fixed codes, then own codes."""
    symbols = list(_list_symbols(block.tokens))
    token_counts = Counter(each.symbol for each, _ in symbols)
    distance_counts = Counter(each.symbol for _, each in symbols if each is not None)
    if not distance_counts:
        # A code needs at least one symbol, used or not; the fixed one pays for it as well.
        distance_counts[0] = 1
    extra = sum(each.extra_bits for pair in symbols for each in pair if each is not None)

    own = _Coding(
        build_prefix_code(token_counts, _MAX_CODE_LENGTH),
        build_prefix_code(distance_counts, _MAX_CODE_LENGTH),
    )
    fixed = _Coding(_FIXED_TOKENS, _FIXED_DISTANCES)
    header = _Header(own)
    fixed_size, own_size = (
        extra + measure(token_counts, coding.tokens) + measure(distance_counts, coding.distances)
        for coding in (fixed, own)
    )
    own_size += header.size
    if _fits_stored(block.data, 3 + min(fixed_size, own_size)):
        write_stored(writer, block.data)
    elif own_size < fixed_size:
        writer.write(_DYNAMIC << 1, 3)
        header.write(writer)
        _write_symbols(writer, symbols, own)
    else:
        writer.write(_FIXED << 1, 3)
        _write_symbols(writer, symbols, fixed)


def write_stored(writer: BitWriter, data: bytes, *, is_last: bool = False) -> None:
    """A block that holds the bytes as they are."""
    writer.write(_STORED << 1 | is_last, 3)
    writer.fill_byte()
    writer.write(len(data), 16)
    writer.write(len(data) ^ 0xFFFF, 16)
    writer.write_bytes(data)


def _fits_stored(data: bytes, size_in_bits: int) -> bool:
    return len(data) <= _MAX_STORED_BYTES and (len(data) + 5) * 8 < size_in_bits


def _list_symbols(tokens: Sequence[Token]) -> Iterator[tuple[_Symbol, _Symbol | None]]:
    """Each token as its symbol, a repeat with the symbol of its distance; the end of the block last."""
    for token in tokens:
        if isinstance(token, int):
            yield _Symbol(token), None
            continue
        length = _classify(token.length, _LENGTHS, _LENGTH_BASES)
        distance = _classify(token.distance, _DISTANCES, _DISTANCE_BASES)
        yield length._replace(symbol=_FIRST_LENGTH + length.symbol), distance
    yield _Symbol(_END_OF_BLOCK), None


def _classify(value: int, classes: Sequence[_Class], bases: Sequence[int]) -> _Symbol:
    place = bisect_right(bases, value) - 1
    return _Symbol(place, value - classes[place].base, classes[place].extra_bits)


def _write_symbols(
    writer: BitWriter, symbols: Sequence[tuple[_Symbol, _Symbol | None]], coding: _Coding
) -> None:
    for token, distance in symbols:
        _write_symbol(writer, token, coding.tokens)
        if distance is not None:
            _write_symbol(writer, distance, coding.distances)


def _write_symbol(writer: BitWriter, symbol: _Symbol, code: PrefixCode) -> None:
    writer.write(*code[symbol.symbol])
    if symbol.extra_bits:
        writer.write(symbol.extra, symbol.extra_bits)


class _Header:
    """How a block tells its reader the codes it uses: their lengths, themselves in a code."""

    def __init__(self, coding: _Coding) -> None:
        self._token_lengths = _list_lengths(coding.tokens, _FIRST_LENGTH)
        self._distance_lengths = _list_lengths(coding.distances, 1)
        self._symbols = list(_shorten_runs(self._token_lengths + self._distance_lengths))
        counts = Counter(each.symbol for each in self._symbols)
        self._code = build_prefix_code(counts, _MAX_CODE_LENGTH_OF_LENGTHS)
        used = [place for place, symbol in enumerate(_ORDER_OF_LENGTHS) if symbol in self._code]
        self._lengths_written = max(4, used[-1] + 1)
        extra = sum(each.extra_bits for each in self._symbols)
        self.size = 5 + 5 + 4 + 3 * self._lengths_written + measure(counts, self._code) + extra

    def write(self, writer: BitWriter) -> None:
        writer.write(len(self._token_lengths) - _FIRST_LENGTH, 5)
        writer.write(len(self._distance_lengths) - 1, 5)
        writer.write(self._lengths_written - 4, 4)
        for symbol in _ORDER_OF_LENGTHS[: self._lengths_written]:
            writer.write(self._code.get(symbol, _UNUSED).length, 3)
        for each in self._symbols:
            _write_symbol(writer, each, self._code)


_UNUSED = Code(0, 0)


def _list_lengths(code: PrefixCode, at_least: int) -> list[int]:
    """The code length of every symbol up to the last one used, 0 for those that are not used."""
    return [code.get(symbol, _UNUSED).length for symbol in range(max(at_least, max(code) + 1))]


def _shorten_runs(lengths: Sequence[int]) -> Iterator[_Symbol]:
    """Code lengths with their runs shortened, as far as that pays."""
    for length, run in groupby(lengths):
        left = sum(1 for _ in run)
        if length:
            yield _Symbol(length)
            left -= 1
            kind, longest, shortest = _REPEAT_LAST, 6, 3
        else:
            kind, longest, shortest = _REPEAT_ZERO_OFTEN, 138, 11
        while left >= shortest:
            times = min(left, longest)
            yield _Symbol(kind, times - shortest, _EXTRA_BITS[kind])
            left -= times
        if not length and left >= 3:
            yield _Symbol(_REPEAT_ZERO, left - 3, _EXTRA_BITS[_REPEAT_ZERO])
            left = 0
        for _ in range(left):
            yield _Symbol(length)
