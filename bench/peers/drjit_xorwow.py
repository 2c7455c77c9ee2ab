"""XORWOW, the default generator of cuRAND, in Dr.Jit: a state is a list of six words."""

from __future__ import annotations

from typing import Any

import drjit as dr


def following(state):
    """The state one draw later."""
    d, v0, v1, v2, v3, v4 = state
    t = v0 ^ (v0 >> 2)
    return [d + 362437, v1, v2, v3, v4, v4 ^ (v4 << 4) ^ t ^ (t << 1)]


def bits(state):
    """The number drawn last."""
    return state[0] + state[5]


def uniform(state):
    """The number drawn last, as a float above 0 and at most 1: the product is exact, so that it may
    be fused with the sum."""
    number = bits(state)
    Float: Any = dr.float_array_t(type(number))
    return Float(number) * 2.3283064e-10 + 1.1641532e-10


def seeded(value):
    """What cuRAND makes of a 32-bit seed, taken as signed."""
    UInt32 = type(value)
    high = dr.select(value >= 0x80000000, UInt32(0xFFFFFFFF), 0)
    low_mix = 1099087573 * (value ^ 0xAAD26B49)
    high_mix = 2591861531 * (high ^ 0xF7DCEFDD)
    return [
        6615241 + high_mix + low_mix,
        123456789 + low_mix,
        362436069 ^ low_mix,
        521288629 + high_mix,
        88675123 ^ high_mix,
        5783321 + low_mix,
    ]
