"""Prefix codes (Huffman) of limited length. Of several that are equally good, always the same one."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple


class Code(NamedTuple):
    """The bits of one symbol, in the order in which they are written, lowest first."""

    bits: int
    length: int


PrefixCode = Mapping[int, Code]


def build_prefix_code(counts: Mapping[int, int], max_length: int) -> PrefixCode:
    """The shortest code for symbols that occur so often (at least once each)."""
    symbols = sorted(counts)
    if len(symbols) <= 2:
        return assign_codes(dict.fromkeys(symbols, 1))
    # The rarest first. Of two that are as rare, the smaller one gets the longer code.
    symbols.sort(key=lambda symbol: counts[symbol])
    lengths = _compute_lengths([counts[symbol] for symbol in symbols], min(max_length, len(symbols) - 1))
    return assign_codes(dict(zip(symbols, lengths, strict=True)))


def assign_codes(lengths: Mapping[int, int]) -> PrefixCode:
    """The codes of these lengths: shorter ones first, those of one length in the order of symbols."""
    codes: dict[int, Code] = {}
    value = last_length = 0
    for symbol in sorted(lengths, key=lambda symbol: (lengths[symbol], symbol)):
        length = lengths[symbol]
        value <<= length - last_length
        codes[symbol] = Code(int(f"{value:0{length}b}"[::-1], 2), length)
        value, last_length = value + 1, length
    return codes


def measure(counts: Mapping[int, int], code: PrefixCode) -> int:
    """How many bits symbols that occur so often take."""
    return sum(count * code[symbol].length for symbol, count in counts.items())


def _compute_lengths(counts: Sequence[int], max_length: int) -> list[int]:
    """The length of each code, for counts in rising order (package-merge).

    A row holds single symbols and pairs of what the row before holds, lightest first. How often a symbol
    is among what is taken of the rows, from the last one back, is the length of its code.
    """
    singles = [(count, True) for count in counts]
    rows = [singles]
    for _ in range(max_length - 1):
        weights = [weight for weight, _ in rows[-1]]
        pairs = [(first + second, False) for first, second in zip(weights[::2], weights[1::2], strict=False)]
        # False sorts first: a pair comes before a symbol of the same weight.
        rows.append(sorted(chain(pairs, singles)))
    lengths = [0] * len(counts)
    taken = 2 * len(counts) - 2
    for row in reversed(rows):
        symbols = sum(is_single for _, is_single in row[:taken])
        for place in range(symbols):
            lengths[place] += 1
        taken = 2 * (taken - symbols)
    return lengths
