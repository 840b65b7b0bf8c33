"""The random numbers of sampling: the same stream as `createRandom` of Lyceum, so that equal seeds draw equally."""

from __future__ import annotations

import struct

MASK = 0xFFFFFFFF


class Random:
    """A stream of numbers in [0, 1) that depends only on its seed.

    xoshiro128** (Blackman and Vigna 2018, https://arxiv.org/abs/1805.01407).
    """

    def __init__(self, seed: float) -> None:
        kind, low, high = _words(seed)
        for _ in range(3):
            low = _mix(((low ^ high) + 0x9E3779B9) & MASK)
            high = _mix(((high ^ low) + 0x85EBCA6B) & MASK)
        third = _mix((low + kind) & MASK)
        self._state = [low, high, third, _mix(high ^ third) | 1]

    def next(self) -> float:
        """Returns a number in [0, 1) with 53 random bits."""
        high, low = self._word() >> 5, self._word() >> 6
        return (high * 67108864 + low) / 9007199254740992

    def _word(self) -> int:
        a, b, c, d = self._state
        product = (b * 5) & MASK
        result = (_rotate(product, 7) * 9) & MASK
        third, fourth = c ^ a, d ^ b
        self._state = [a ^ fourth, b ^ third, third ^ ((b << 9) & MASK), _rotate(fourth, 11)]
        return result


def _words(seed: float) -> tuple[int, int, int]:
    if float(seed).is_integer() and abs(seed) <= 2**53 - 1:
        return 1, int(seed) & MASK, (int(seed) >> 32) & MASK
    high, low = struct.unpack(">II", struct.pack(">d", seed))
    return 2, low, high


def _mix(word: int) -> int:
    mixed = word ^ (word >> 16)
    mixed = (mixed * 0x21F0AAAD) & MASK
    mixed = ((mixed ^ (mixed >> 15)) * 0x735A2D97) & MASK
    return mixed ^ (mixed >> 15)


def _rotate(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & MASK
