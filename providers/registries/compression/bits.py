"""Bits packed into bytes, lowest first."""


class BitWriter:
    """Collects values of any number of bits."""

    def __init__(self) -> None:
        self._whole = bytearray()
        self._pending = 0
        self._pending_bits = 0

    def write(self, value: int, bits: int) -> None:
        """The lowest `bits` bits of a value, which has no others."""
        self._pending |= value << self._pending_bits
        self._pending_bits += bits
        if self._pending_bits >= 64:
            self._whole += (self._pending & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")
            self._pending >>= 64
            self._pending_bits -= 64

    def fill_byte(self) -> None:
        """Zeros up to the end of the byte."""
        size = (self._pending_bits + 7) // 8
        self._whole += self._pending.to_bytes(size, "little")
        self._pending = self._pending_bits = 0

    def write_bytes(self, data: bytes) -> None:
        """Whole bytes, after the end of the byte."""
        self.fill_byte()
        self._whole += data

    def to_bytes(self) -> bytes:
        self.fill_byte()
        return bytes(self._whole)
