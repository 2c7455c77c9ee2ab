"""XORWOW, the default generator of cuRAND, in numba-cuda: a state is six words.

A word of all generators lies side by side, in rows of an array. Numba computes with 64 bits where
operands have fewer: what is kept is cut to 32.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

u32, f32 = np.uint32, np.float32
ONE, TWO, FOUR, WEYL = u32(1), u32(2), u32(4), u32(362437)
#: The first is 2**-32, so that the product is exact, fused with the sum or not.
SCALE, HALF_STEP = f32(2.3283064e-10), f32(1.1641532e-10)


@cuda.jit(device=True)
def load(random, i):
    return random[0, i], random[1, i], random[2, i], random[3, i], random[4, i], random[5, i]


@cuda.jit(device=True)
def store(state, random, i):
    for word in range(6):
        random[word, i] = state[word]


@cuda.jit(device=True)
def following(state):
    """The state one draw later."""
    d, v0, v1, v2, v3, v4 = state
    t = v0 ^ (v0 >> TWO)
    last = u32(v4 ^ (v4 << FOUR) ^ t ^ (t << ONE))
    return u32(d + WEYL), v1, v2, v3, v4, last


@cuda.jit(device=True)
def bits(state):
    """The number drawn last."""
    return u32(state[0] + state[5])


@cuda.jit(device=True)
def uniform(state):
    """The number drawn last, as a float above 0 and at most 1."""
    return f32(bits(state)) * SCALE + HALF_STEP


@cuda.jit(device=True)
def seeded(value):
    """What cuRAND makes of a 32-bit seed, taken as signed."""
    high = u32(0xFFFFFFFF) if value >= u32(0x80000000) else u32(0)
    low_mix = u32(u32(1099087573) * (value ^ u32(0xAAD26B49)))
    high_mix = u32(u32(2591861531) * (high ^ u32(0xF7DCEFDD)))
    return (
        u32(u32(6615241) + high_mix + low_mix),
        u32(u32(123456789) + low_mix),
        u32(u32(362436069) ^ low_mix),
        u32(u32(521288629) + high_mix),
        u32(u32(88675123) ^ high_mix),
        u32(u32(5783321) + low_mix),
    )
