"""Philox4x32-10 in NumPy, and the library's distributions on its words in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
MASK = np.uint64(0xFFFFFFFF)


def philox4x32(counter: Any, key: tuple[int, int], rounds: int = 10) -> np.ndarray[Any, Any]:
    """Blocks of four words: `counter` is [.., 4] words (Salmon et al. 2011, figure 2)."""
    c = [np.asarray(counter)[..., i].astype(np.uint64) for i in range(4)]
    for r in range(rounds):
        k = [np.uint64((key[j] + r * WEYL[j]) & 0xFFFFFFFF) for j in range(2)]
        first, second = c[0] * np.uint64(MULTIPLIERS[0]), c[2] * np.uint64(MULTIPLIERS[1])
        half = np.uint64(32)
        c = [
            (second >> half) ^ c[1] ^ k[0],
            second & MASK,
            (first >> half) ^ c[3] ^ k[1],
            first & MASK,
        ]
    return np.stack(c, axis=-1).astype(np.uint32)


def words(n: int, seed: int, offset: int = 0, stream: int = 0) -> np.ndarray[Any, Any]:
    """The first n words of a tensor that begins at block `offset`."""
    blocks = [(offset + i) % 2**64 for i in range((n + 3) // 4)]
    counter = np.zeros((len(blocks), 4), np.uint32)
    counter[:, 0] = [b & 0xFFFFFFFF for b in blocks]
    counter[:, 1] = [b >> 32 for b in blocks]
    counter[:, 2] = stream
    return philox4x32(counter, (seed & 0xFFFFFFFF, seed >> 32)).reshape(-1)[:n]


def uniform(n: int, seed: int, offset: int, bits: int) -> np.ndarray[Any, Any]:
    """In [0, 1) by the upper `bits` of a word, or of two for 53."""
    hi = words(n, seed, offset).astype(np.float64)
    if bits == 53:
        lo = words(n, seed, offset, 1) >> np.uint32(11)
        return (hi * 2.0**21 + lo) * 2.0**-53
    return np.floor(hi * 2.0 ** (bits - 32)) * 2.0**-bits


def exponential(n: int, seed: int, offset: int, wide: bool = False) -> np.ndarray[Any, Any]:
    w = words(n, seed, offset)
    if wide:
        lo = words(n, seed, offset, 1) >> np.uint32(12)
        return -np.log(w * 2.0**-32 + (lo + 0.5) * 2.0**-52)
    small = np.maximum(w, 1) * 2.0**-32
    return -np.log(np.where(w < 1 << 24, small, (w >> np.uint32(8)) * 2.0**-24))


def normal(n: int, seed: int, offset: int, wide: bool = False) -> np.ndarray[Any, Any]:
    """By Box and Muller, the cosine from the octant that the word's upper bits name."""
    radius = np.sqrt(2 * exponential(n, seed, offset, wide))
    turn = [int(w) << 32 for w in words(n, seed, offset, 2 if wide else 1)]
    if wide:
        turn = [t | int(w) for t, w in zip(turn, words(n, seed, offset, 3), strict=True)]
    quadrant = np.array([(t + (1 << 61)) >> 62 & 3 for t in turn])
    rest = np.array([((t + (1 << 61)) % (1 << 62)) - (1 << 61) for t in turn], np.float64)
    angle = rest * 2.0**-62 * (np.pi / 2)
    cosines = np.choose(quadrant, [np.cos(angle), -np.sin(angle), -np.cos(angle), np.sin(angle)])
    return radius * cosines


def below(n: int, span: int, seed: int, offset: int) -> list[int]:
    """floor(word span / 2^64) for words of 64 bits."""
    hi, lo = words(n, seed, offset), words(n, seed, offset, 1)
    return [((int(a) << 32 | int(b)) * span) >> 64 for a, b in zip(hi, lo, strict=True)]
