"""Random numbers that are the same on every backend and in every order of threads.

A number depends on a seed and a counter alone: Philox4x32-10 of Salmon et al., "Parallel Random
Numbers: As Easy as 1, 2, 3" (SC'11). It is written in the subset that kernels are compiled from.
"""

from __future__ import annotations

import math

import numpy as np

from .model.functions import func
from .model.type_names import f32, f64, i64, u32, u64

ROUNDS = 10
MULTIPLIER_0, MULTIPLIER_1 = 0xD2511F53, 0xCD9E8D57
WEYL_0, WEYL_1 = 0x9E3779B9, 0xBB67AE85


@func
def philox(c0: u32, c1: u32, c2: u32, c3: u32, k0: u32, k1: u32) -> tuple[u32, u32, u32, u32]:
    """Four words from a 128-bit counter and a 64-bit key, least significant words first."""
    for _ in range(ROUNDS):
        product_0 = u64(c0) * MULTIPLIER_0
        product_1 = u64(c2) * MULTIPLIER_1
        high_0, high_1 = u32(product_0 >> 32), u32(product_1 >> 32)
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, u32(product_1), high_0 ^ c3 ^ k1, u32(product_0)
        # In 64 bits, because CPython warns when a 32-bit sum wraps.
        k0, k1 = u32(u64(k0) + WEYL_0), u32(u64(k1) + WEYL_1)
    return c0, c1, c2, c3


@func
def random_bits(seed: u64, counter: u64) -> u32:
    """32 random bits for ``counter``, one of 2**64 of the sequence that ``seed`` names."""
    zero = u32(0)
    return philox(u32(counter), u32(counter >> 32), zero, zero, u32(seed), u32(seed >> 32))[0]


@func
def words(seed: u64, first: u64, second: u64) -> tuple[u32, u32, u32, u32]:
    """The four words of two counters."""
    return philox(
        u32(first), u32(first >> 32), u32(second), u32(second >> 32), u32(seed), u32(seed >> 32)
    )


@func
def following(seed: u64, first: u64, second: u64) -> u64:
    """The seed for the counters after these two."""
    low, high, _, _ = words(seed, first, second)
    return u64(low) | (u64(high) << 32)


@func
def _half_open(a: u32, b: u32) -> f64:
    """A multiple of 2**-53 in [0, 1)."""
    return (f64(a >> 5) * 67108864.0 + f64(b >> 6)) * 2.0**-53


@func
def _open(a: u32, b: u32) -> f64:
    """An odd multiple of 2**-53 in (0, 1)."""
    return (f64(a >> 6) * 134217728.0 + f64(b >> 6) * 2.0 + 1.0) * 2.0**-53


# Logarithm, sine and cosine by Taylor's series: sums, products and quotients have the same bits
# everywhere, functions of libraries have not.
ATANH = tuple(1.0 / k for k in range(25, 0, -2))
COS = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(9, -1, -1))
SIN = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(9, -1, -1))
LN2, ROOT_HALF = math.log(2.0), math.sqrt(0.5)
SCALES = ((2.0**-32, 32), (2.0**-16, 16), (2.0**-8, 8), (2.0**-4, 4), (2.0**-2, 2), (0.5, 1))


@func
def _log(x: f64) -> f64:
    """Of numbers from 2**-64 to 1."""
    exponent = 0
    for scale, places in SCALES:
        if x < scale:
            x = x / scale
            exponent -= places
    if x < ROOT_HALF:
        x = x * 2.0
        exponent -= 1
    t = (x - 1.0) / (x + 1.0)
    z, total = t * t, f64(0)
    for factor in ATANH:
        total = total * z + factor
    return f64(exponent) * LN2 + 2.0 * t * total


@func
def _cosine(turns: f64) -> f64:
    """Of a part of a turn, from 0 to 1."""
    a = abs(turns - 0.5)  # the cosine of a turn less a half is the other one's negative
    sign = f64(-1)
    if a > 0.25:
        a, sign = 0.5 - a, f64(1)
    y, total = 2.0 * math.pi * a, f64(0)
    if a > 0.125:
        y = 2.0 * math.pi * (0.25 - a)
        for factor in SIN:
            total = total * (y * y) + factor
        return sign * (total * y)
    for factor in COS:
        total = total * (y * y) + factor
    return sign * total


@func
def uniform_32(seed: u64, first: u64, second: u64) -> f32:
    return f32(words(seed, first, second)[0] >> 8) * f32(2.0**-24)


@func
def uniform_64(seed: u64, first: u64, second: u64) -> f64:
    a, b, _, _ = words(seed, first, second)
    return _half_open(a, b)


@func
def integer(seed: u64, first: u64, second: u64, low: i64, high: i64) -> i64:
    """The upper 64 bits of 64 random bits times the number of integers."""
    a, b, _, _ = words(seed, first, second)
    count = u64(high) - u64(low)
    above, below = count >> 32, count & 0xFFFFFFFF
    carry = (u64(b) * below) >> 32
    middle = u64(a) * below + carry
    more = u64(b) * above + (middle & 0xFFFFFFFF)
    return i64(u64(low) + u64(a) * above + (middle >> 32) + (more >> 32))


@func
def exponential_32(seed: u64, first: u64, second: u64) -> f32:
    a, b, _, _ = words(seed, first, second)
    return f32(-_log(_open(a, b)))


@func
def normal_32(seed: u64, first: u64, second: u64) -> f32:
    """G. Box and M. Muller, "A Note on the Generation of Random Normal Deviates" (1958)."""
    a, b, c, d = words(seed, first, second)
    return f32(np.sqrt(-2.0 * _log(_open(a, b))) * _cosine(_half_open(c, d)))
