"""Texts that take every way through the compressor, the same ones on every machine."""

from collections.abc import Iterator
from hashlib import shake_256


class _Dice:
    """Bytes that look random, and are the same for one seed for ever."""

    def __init__(self, seed: str) -> None:
        self._bytes = shake_256(seed.encode()).digest(200_000)
        self._place = 0

    def bytes(self, count: int) -> bytes:
        self._place += count
        return self._bytes[self._place - count : self._place]

    def below(self, bound: int) -> int:
        return int.from_bytes(self.bytes(3), "big") % bound


def list_texts() -> Iterator[tuple[str, bytes]]:
    """Names and texts, from nothing to the most that is compressed."""
    for text in (b"", b"a", b"ab", b"aaaa", b"aaaaa", b"abcabcabc", bytes(300), b"abcd" * 200):
        yield f"{text[:4]!r} of {len(text)}", text
    yield "every byte thrice", bytes(range(256)) * 3
    yield "many scripts", "".join(chr(0x100 + 37 * n % 0x2000) for n in range(1500)).encode()
    for size in (7, 40, 400, 5_000):
        yield f"no pattern in {size}", _Dice(f"noise {size}").bytes(size)
        yield f"of three bytes in {size}", _draw(f"few {size}", b"abc", size)
        yield f"of pieces of itself in {size}", _repeat_itself(f"pieces {size}", size)
        yield f"of labels in {size}", _list_labels(f"labels {size}", size)
    for size in (65_535, 65_536):
        yield f"all the same in {size}", b"x" * size
    # More than 16,384 tokens are split into blocks: stored ones, and ones with codes of their own.
    yield "two blocks without pattern", _Dice("noise").bytes(20_000)
    yield "two blocks of sixteen letters", _draw("letters", b"abcdefghijklmnop", 36_000)
    for distance in (4_095, 4_096, 4_097):
        for length in (4, 5):
            yield f"{length} bytes again after {distance}", _come_back(length, distance)
    for distance in (32_767, 32_768, 32_769):
        yield f"258 bytes again after {distance}", _come_back(258, distance)
    for symbols in (2, 3, 20):
        yield f"{symbols} symbols of very different weight", _weigh(f"weights {symbols}", symbols)
    for places in (4_094, 4_095, 4_096):
        yield f"the best repeat behind {places} others", _hide_among(places, b"abcd")
        # The hash of `rrij` is that of `abcd`, so it counts among the places that are tried.
        yield f"the best repeat behind {places} of the same hash", _hide_among(places, b"rrij")
    for size in (24, 25, 26):
        yield f"{size} bytes that fixed codes make longer", bytes(range(150, 150 + size))


def _come_back(length: int, distance: int) -> bytes:
    dice = _Dice(f"{length} bytes {distance} apart")
    piece = dice.bytes(length)
    # What lies between takes few tokens, and never repeats the piece.
    return piece + bytes(distance - length) + piece


def _draw(seed: str, alphabet: bytes, size: int) -> bytes:
    return bytes(alphabet[each % len(alphabet)] for each in _Dice(seed).bytes(size))


def _repeat_itself(seed: str, size: int) -> bytes:
    dice, text = _Dice(seed), bytearray(b"start")
    while len(text) < size:
        start = dice.below(len(text))
        text += text[start : start + 3 + dice.below(60)] + dice.bytes(dice.below(3))
    return bytes(text[:size])


def _list_labels(seed: str, size: int) -> bytes:
    dice, text = _Dice(seed), b"heritage=external-dns"
    while len(text) < size:
        name = dice.bytes(1 + dice.below(6)).hex()
        text += f",external-dns/{name}=ingress/{name}/{dice.bytes(dice.below(12)).hex()}".encode()
    return text[:size]


def _weigh(seed: str, symbols: int) -> bytes:
    """Weights as in a Fibonacci series make the longest codes: the limit on their length shows."""
    dice, text, weights = _Dice(seed), bytearray(), [1, 1]
    while len(weights) < symbols:
        weights.append(min(weights[-1] + weights[-2], 4_000))
    for symbol, weight in enumerate(weights):
        text += bytes([symbol]) * weight
    for place in range(min(len(text), 50_000) - 1, 0, -1):
        other = dice.below(place + 1)
        text[place], text[other] = text[other], text[place]
    return bytes(text[:50_000])


def _hide_among(places: int, piece: bytes) -> bytes:
    """The best repeat is about as far back as places are tried."""
    return b"abcd-best" + b"".join(piece + bytes([n % 5]) for n in range(places)) + b"abcd-best"
