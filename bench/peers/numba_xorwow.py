"""XORWOW, the default generator of cuRAND, in numba: a generator is a row of six words."""

from __future__ import annotations

import numpy as np
from numba import njit

from apps.common.xorwow_streams import STATE_DTYPE

WORDS = len(STATE_DTYPE.names or ())


@njit
def draw(random, i):
    """One raw draw of generator ``i``."""
    v0, last = random[i, 1], random[i, 5]
    t = v0 ^ (v0 >> np.uint32(2))
    last = np.uint32(last ^ (last << np.uint32(4)) ^ t ^ (t << np.uint32(1)))
    d = np.uint32(random[i, 0] + np.uint32(362437))
    random[i, 0] = d
    for word in range(1, WORDS - 1):
        random[i, word] = random[i, word + 1]
    random[i, WORDS - 1] = last
    return np.uint32(last + d)


@njit
def uniform(bits):
    return np.float32(bits) * np.float32(2.3283064e-10) + np.float32(1.1641532e-10)


@njit
def seed(random, i, value):
    """What cuRAND makes of a 32-bit seed, taken as signed."""
    high = np.uint32(0xFFFFFFFF) if value >= np.uint32(0x80000000) else np.uint32(0)
    low_mix = np.uint32(np.uint32(1099087573) * (value ^ np.uint32(0xAAD26B49)))
    high_mix = np.uint32(np.uint32(2591861531) * (high ^ np.uint32(0xF7DCEFDD)))
    random[i, 0] = np.uint32(6615241) + high_mix + low_mix
    random[i, 1] = np.uint32(123456789) + low_mix
    random[i, 2] = np.uint32(362436069) ^ low_mix
    random[i, 3] = np.uint32(521288629) + high_mix
    random[i, 4] = np.uint32(88675123) ^ high_mix
    random[i, 5] = np.uint32(5783321) + low_mix
