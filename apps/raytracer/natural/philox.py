"""Philox4x32-10 over NumPy arrays: the numbers of ``oa.random``, many at once."""

from __future__ import annotations

from typing import Any

import numpy as np

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)

Words = np.ndarray[Any, np.dtype[np.uint64]]


def random(seed: int, counters: Words) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Floats in [0, 1) for each counter.

    Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC'11).
    """
    words = [counters & _LOW, counters >> _SHIFT, np.zeros_like(counters), np.zeros_like(counters)]
    keys = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        left, right = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [
            (right >> _SHIFT) ^ words[1] ^ np.uint64(keys[0]),
            right & _LOW,
            (left >> _SHIFT) ^ words[3] ^ np.uint64(keys[1]),
            left & _LOW,
        ]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return (words[0] >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)
