"""A gzip file (RFC 1952) of DEFLATE blocks (RFC 1951), each under whichever code takes the fewest bits.

Bits are texts of `0` and `1` in the order in which they are written.
"""

import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, groupby

from providers.registries.compression.repeats import Block, Token, split_into_blocks

MAX_BYTES = 64 * 1024
# DEFLATE, no flags, no time, best compression, made by an unknown system.
_HEADER = bytes((0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 255))
# The lengths of an empty block, and a last block that is empty too.
_END = bytes((0, 0, 255, 255, 1, 0, 0, 255, 255))
_TRAILER_BYTES = 8

_END_OF_BLOCK = 256
_FIRST_LENGTH = 257
_MAX_STORED_BYTES = 65_535
# How many bits follow the symbol of a length or a distance. Length 258 has a symbol of its own.
_LENGTH_BITS = [0] * 8 + [bits for bits in range(1, 6) for _ in range(4)] + [0]
_DISTANCE_BITS = [0, 0] + [bits for bits in range(14) for _ in range(2)]
_LENGTH_BASES = [*accumulate((1 << bits for bits in _LENGTH_BITS[:-2]), initial=3), 258]
_DISTANCE_BASES = list(accumulate((1 << bits for bits in _DISTANCE_BITS[:-1]), initial=1))
_ORDER_OF_LENGTHS = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
# A code length repeats the last one, or zeros: symbol, fewest and most times, bits that say how often.
_REPEAT_LAST = ((16, 3, 6, 2),)
_REPEAT_ZERO = ((18, 11, 138, 7), (17, 3, 10, 3))

# The bits of each symbol, no one's the beginning of another's.
PrefixCode = Mapping[int, str]
# Symbol and further bits of a token, and those of its distance if it is a repeat.
_Symbols = tuple[int, str, int | None, str]


def compress(data: bytes) -> bytes:
    """The bytes that Go's compress/gzip makes of up to 64 KiB in one piece, at its best compression.

    As ExternalDNS calls it: flushed, which adds an empty block, then closed, which adds another.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"At most {MAX_BYTES} bytes are compressed; these are {len(data)}.")
    bits = ""
    for block in split_into_blocks(data):
        bits = _add_block(bits, block)
    bits = _add_stored(_add_stored(bits, b""), b"", is_last=True)
    deflated = int(bits[::-1], 2).to_bytes(len(bits) // 8, "little")
    checksum = zlib.crc32(data).to_bytes(4, "little")
    return _HEADER + deflated + checksum + len(data).to_bytes(4, "little")


def has_form_of_gzip_text(compressed: bytes) -> bool:
    """Whether these bytes begin and end as `compress` begins and ends them. It does not look between."""
    return compressed.startswith(_HEADER) and compressed[:-_TRAILER_BYTES].endswith(_END)


def _add_block(bits: str, block: Block) -> str:
    """The bits and a block in the form that takes the fewest; of equal ones fixed codes, then own codes."""
    symbols = list(_list_symbols(block.tokens))
    distances = Counter(distance for _, _, distance, _ in symbols if distance is not None)
    # A code needs at least one symbol, used or not, which both forms are measured with.
    unused = 0 if distances else 1
    own = (
        build_prefix_code(Counter(symbol for symbol, _, _, _ in symbols), 15),
        build_prefix_code(distances or {0: 1}, 15),
    )
    with_own = _format_codes(*own) + _format_symbols(symbols, *own)
    with_fixed = _format_symbols(symbols, _FIXED_TOKENS, _FIXED_DISTANCES)
    own_size, fixed_size = len(with_own) + unused, len(with_fixed) + unused * len(_FIXED_DISTANCES[0])
    stored_size = (len(block.data) + 5) * 8
    if len(block.data) <= _MAX_STORED_BYTES and stored_size < 3 + min(own_size, fixed_size):
        return _add_stored(bits, block.data)
    return bits + (f"001{with_own}" if own_size < fixed_size else f"010{with_fixed}")


def _add_stored(bits: str, data: bytes, *, is_last: bool = False) -> str:
    """The bits and a block that holds the bytes as they are, from the next whole byte on."""
    bits += f"{is_last:d}00"
    bits += "0" * (-len(bits) % 8)
    lengths = len(data).to_bytes(2, "little") + (len(data) ^ 0xFFFF).to_bytes(2, "little")
    return bits + "".join(_format_number(byte, 8) for byte in lengths + data)


def _list_symbols(tokens: Sequence[Token]) -> Iterator[_Symbols]:
    for token in tokens:
        if isinstance(token, int):
            yield token, "", None, ""
            continue
        length = bisect_right(_LENGTH_BASES, token.length) - 1
        distance = bisect_right(_DISTANCE_BASES, token.distance) - 1
        yield (
            _FIRST_LENGTH + length,
            _format_number(token.length - _LENGTH_BASES[length], _LENGTH_BITS[length]),
            distance,
            _format_number(token.distance - _DISTANCE_BASES[distance], _DISTANCE_BITS[distance]),
        )
    yield _END_OF_BLOCK, "", None, ""


def _format_symbols(symbols: Sequence[_Symbols], tokens: PrefixCode, distances: PrefixCode) -> str:
    return "".join(
        tokens[symbol] + more + ("" if distance is None else distances[distance] + distance_more)
        for symbol, more, distance, distance_more in symbols
    )


def _format_codes(tokens: PrefixCode, distances: PrefixCode) -> str:
    """How a block gives its reader the codes it uses: their lengths, themselves in a code."""
    token_lengths, distance_lengths = (
        [len(code.get(symbol, "")) for symbol in range(max(at_least, max(code) + 1))]
        for code, at_least in ((tokens, _FIRST_LENGTH), (distances, 1))
    )
    runs = list(_shorten_runs(token_lengths + distance_lengths))
    code = build_prefix_code(Counter(symbol for symbol, _ in runs), 7)
    lengths = [len(code.get(symbol, "")) for symbol in _ORDER_OF_LENGTHS]
    while not lengths[-1] and len(lengths) > 4:
        lengths.pop()
    counts = ((len(token_lengths) - _FIRST_LENGTH, 5), (len(distance_lengths) - 1, 5), (len(lengths) - 4, 4))
    numbers = chain(counts, ((length, 3) for length in lengths))
    return "".join(_format_number(*each) for each in numbers) + "".join(
        code[run] + more for run, more in runs
    )


def _shorten_runs(lengths: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Code lengths with their runs shortened, as far as that pays."""
    for length, run in groupby(lengths):
        left = sum(1 for _ in run)
        if length:
            yield length, ""
            left -= 1
        for symbol, fewest, most, bits in _REPEAT_LAST if length else _REPEAT_ZERO:
            while left >= fewest:
                times = min(left, most)
                yield symbol, _format_number(times - fewest, bits)
                left -= times
        for _ in range(left):
            yield length, ""


def _format_number(value: int, bits: int) -> str:
    """A number, lowest bit first."""
    return f"{value:0{bits}b}"[::-1] if bits else ""


def build_prefix_code(counts: Mapping[int, int], max_length: int) -> PrefixCode:
    """The shortest (Huffman) code of limited length for symbols that occur so often (at least once each). Of
    several that are equally good, always the same one."""
    symbols = sorted(counts)
    if len(symbols) <= 2:
        return assign_codes(dict.fromkeys(symbols, 1))
    # The rarest first. Of two that are as rare, the smaller one gets the longer code.
    symbols.sort(key=lambda symbol: counts[symbol])
    lengths = _compute_lengths([counts[symbol] for symbol in symbols], min(max_length, len(symbols) - 1))
    return assign_codes(dict(zip(symbols, lengths, strict=True)))


def assign_codes(lengths: Mapping[int, int]) -> PrefixCode:
    """The codes of these lengths: shorter ones first, those of one length in the order of symbols."""
    codes: dict[int, str] = {}
    value = last_length = 0
    for symbol in sorted(lengths, key=lambda symbol: (lengths[symbol], symbol)):
        value <<= lengths[symbol] - last_length
        last_length = lengths[symbol]
        codes[symbol] = f"{value:0{last_length}b}"
        value += 1
    return codes


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


_FIXED_TOKENS = assign_codes(
    {symbol: 7 if 256 <= symbol < 280 else 9 if 144 <= symbol < 256 else 8 for symbol in range(288)}
)
_FIXED_DISTANCES = assign_codes(dict.fromkeys(range(32), 5))
